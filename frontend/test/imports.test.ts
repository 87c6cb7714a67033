// @vitest-environment node
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

const planted: readonly [path: string, imported: string][] = [
  ["src/ui/state.tsx", "@/state/runs"],
  ["src/ui/relative.tsx", "../gateway/calls"],
  ["src/platform/ui.ts", "@/ui/format"],
  ["src/gateway/state.ts", "@/state/runs"],
  ["src/markdown/state.tsx", "@/state/runs"],
  ["src/state/feature.ts", "@/features/chat/rows"],
  ["src/state/ui.ts", "@/ui/Button"],
  ["src/events/feature.ts", "@/features/chat/rows"],
  ["src/cards/feature.tsx", "@/features/chat/rows"],
  ["src/features/chat/other.tsx", "@/features/tasks/TasksPage"],
  ["src/features/chat/relative.tsx", "../tasks/TasksPage"],
  ["src/features/chat/app.tsx", "@/app/App"],
  ["src/features/chat/events.tsx", "@/events/decide"],
];
const allowed = "src/features/chat/allowed.tsx";

/** The linter's words about files planted beside a copy of its own settings: a rule that never fires is noticed. */
let said = "";
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-imports-"));
  cpSync(join(root, "biome.json"), join(folder, "biome.json"));
  for (const [path, imported] of [...planted, [allowed, "@/state/runs"] as const]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `import * as planted from "${imported}";\n\nexport const used = planted;\n`);
  }
  const biome = join(root, "node_modules/.bin/biome");
  const run = spawnSync(biome, ["lint", "--max-diagnostics=100", "--reporter=github", "."], {
    cwd: folder,
    encoding: "utf8",
  });
  said = run.stdout + run.stderr;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the import rules", () => {
  it.each(planted)("refuse %s importing %s", (path) => {
    const about = said.split("\n").filter((line) => line.includes(path));
    expect(about.join("\n")).toContain("noRestrictedImports");
  });

  it("let a feature import what stands below it", () => {
    expect(said).toContain("noRestrictedImports");
    expect(said.split("\n").filter((line) => line.includes(allowed))).toEqual([]);
  });
});
