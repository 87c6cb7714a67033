// What needs a real layout, drawn from the gallery's fixtures: contrast, anchoring, and speed with thousands of messages.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage } from "./host.mjs";

const front = fileURLToPath(new URL("..", import.meta.url));
const built = join(front, "node_modules/.gallery");
const types = { ".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2" };

let server;
let base;
let view;
let axeSource;

before(async () => {
  const run = spawnSync("npx", ["vite", "build", "--mode", "gallery", "--logLevel", "error"], {
    cwd: front,
    stdio: "inherit",
  });
  assert.equal(run.status, 0);
  server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://x").pathname);
    const body = await readFile(join(built, path === "/" ? "index.html" : path)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": types[extname(path)] ?? "text/html" }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}/`;
  // axe is put into the page by the test, past the page's own policy.
  view = await openPage({ bypassCSP: true, reducedMotion: "reduce" });
  axeSource = await readFile(join(front, "node_modules/axe-core/axe.min.js"), "utf8");
});

after(async () => {
  await view?.browser.close();
  server?.close();
});

describe("every screen", () => {
  for (const theme of ["light", "dark"]) {
    it(`has enough contrast, ${theme}`, { timeout: 600_000 }, async () => {
      const { page } = view;
      await page.emulateMedia({ colorScheme: theme });
      await page.goto(base);
      await page.evaluate(axeSource);
      const scenes = JSON.parse(await page.locator("#root").textContent());
      const found = [];
      for (const { name } of scenes) {
        await page.evaluate((which) => document.dispatchEvent(new CustomEvent("scene", { detail: which })), name);
        await page.waitForTimeout(name === "starting" ? 1200 : 120);
        const violations = await page.evaluate(async () => {
          const result = await window.axe.run(document, { resultTypes: ["violations"] });
          return result.violations
            .filter((v) => v.impact === "serious" || v.impact === "critical")
            .map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary?.split("\n")[1] ?? ""}`);
        });
        found.push(...violations.map((words) => `${name}: ${words}`));
      }
      assert.deepEqual(found, []);
    });
  }

  it("cuts nothing at 200 % zoom of the smallest window", async () => {
    const { page } = view;
    await page.setViewportSize({ width: 450, height: 300 });
    for (const name of ["chat-approval-command", "needs-many", "activity-many", "settings-models", "first-run"]) {
      await page.goto(`${base}?scene=${name}`);
      await page.waitForTimeout(200);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, name);
    }
    await page.setViewportSize({ width: 1200, height: 800 });
  });
});

describe("a long chat", () => {
  it("of 5,000 messages opens at its end, quickly, with a small page", async () => {
    const { page } = view;
    await page.goto(`${base}?scene=chat-empty`);
    const took = await page.evaluate(async () => {
      const begun = performance.now();
      document.dispatchEvent(new CustomEvent("scene", { detail: "chat-many" }));
      while (!document.body.textContent.includes("Part 2500 is fine"))
        await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - begun;
    });
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(nodes < 2500, `${nodes} nodes`);
    // 500 ms on a calm machine; the machines that run this are not always calm.
    assert.ok(took < 3000, `${took} ms`);
  });

  it("stays where it is read while the end grows, and follows when its end is in view", async () => {
    const { page } = view;
    await page.goto(`${base}?scene=chat-many`);
    const log = page.getByRole("log");
    await page.waitForTimeout(300);
    const distance = () => log.evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight));
    assert.ok((await distance()) <= 40);
    const stream = (from, to) =>
      page.evaluate(
        async ([first, last]) => {
          for (let at = first; at < last; at += 1) {
            document.dispatchEvent(
              new CustomEvent("stream", {
                detail: `word ${at} ${at % 7 === 0 ? "\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n" : ""}`,
              }),
            );
            await new Promise((done) => requestAnimationFrame(done));
          }
        },
        [from, to],
      );
    await stream(0, 60);
    assert.ok((await distance()) <= 40, "follows at the end");

    for (let turn = 0; turn < 12; turn += 1) {
      await page.evaluate(
        (words) => document.dispatchEvent(new CustomEvent("append", { detail: words })),
        `${"- one more line\n".repeat((turn * 7) % 30)}`,
      );
      await page.waitForTimeout(60);
      assert.ok((await distance()) <= 40, `follows what is appended, turn ${turn}`);
    }

    await log.hover();
    await page.mouse.wheel(0, -3000);
    await page.waitForTimeout(400);
    assert.ok((await distance()) > 1000);
    const anchor = await page.evaluate(() => {
      const box = document.querySelector("[role=log]").getBoundingClientRect();
      const row = [...document.querySelectorAll("[role=log] article")].find(
        (each) => each.getBoundingClientRect().top > box.top,
      );
      window.__row = row;
      return { top: row.getBoundingClientRect().top, words: row.textContent };
    });
    await stream(60, 120);
    await page.evaluate(
      (words) => document.dispatchEvent(new CustomEvent("append", { detail: words })),
      "- a line\n".repeat(20),
    );
    await page.waitForTimeout(100);
    const still = await page.evaluate(() => ({
      top: window.__row.getBoundingClientRect().top,
      words: window.__row.textContent,
    }));
    assert.equal(still.words, anchor.words);
    assert.ok(Math.abs(still.top - anchor.top) <= 1, `moved by ${still.top - anchor.top} px`);
  });
});
