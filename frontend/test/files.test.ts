// @vitest-environment node
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

const files = filesIn(src);
const components = files.filter((path) => path.endsWith(".tsx") && !path.endsWith(".test.tsx"));

describe("the source", () => {
  it.each(components)("%s stays under 200 lines", (path) => {
    expect(readFileSync(path, "utf8").split("\n").length).toBeLessThanOrEqual(200);
  });

  it("uses only style names that exist", () => {
    const missing: string[] = [];
    for (const path of components) {
      const source = readFileSync(path, "utf8");
      for (const [, binding, sheet] of source.matchAll(/import (\w+) from "(\S+\.module\.css)"/g)) {
        if (!binding || !sheet) continue;
        const sheetPath = sheet.startsWith("@/") ? join(src, sheet.slice(2)) : join(path, "..", sheet);
        const names = new Set(
          [...readFileSync(sheetPath, "utf8").matchAll(/\.([A-Za-z][\w-]*)/g)].map((found) => found[1]),
        );
        for (const [, used] of source.matchAll(new RegExp(`\\b${binding}\\.(\\w+)`, "g"))) {
          if (used && !names.has(used)) missing.push(`${path}: ${used}`);
        }
      }
    }
    expect(missing).toEqual([]);
  });

  it("turns model text into DOM only through React, never as HTML", () => {
    const guilty = files.filter(
      (path) =>
        !path.includes(".test.") &&
        /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/.test(
          readFileSync(path, "utf8"),
        ),
    );
    expect(guilty).toEqual([]);
  });
});
