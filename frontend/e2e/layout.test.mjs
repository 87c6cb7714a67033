// What needs a real layout, drawn from the gallery's fixtures: contrast, anchoring, and speed with thousands of messages.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { openGallery, quiet, serveGallery, show } from "../gallery/page.mjs";
import { openPage } from "./host.mjs";

const front = fileURLToPath(new URL("..", import.meta.url));

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
  server = await serveGallery();
  base = server.base;
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
      const scenes = await openGallery(page, base);
      await page.evaluate(axeSource);
      const found = [];
      for (const { name } of scenes) {
        await show(page, name);
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
      await quiet(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, name);
    }
    await page.setViewportSize({ width: 1200, height: 800 });
  });
});

/** Where something is on the screen, rounded outwards. */
const place = (locator) => locator.evaluate((element) => element.getBoundingClientRect().toJSON());

describe("in the smallest window", () => {
  before(async () => {
    await view.page.setViewportSize({ width: 900, height: 600 });
    await openGallery(view.page, base);
  });
  after(() => view.page.setViewportSize({ width: 1200, height: 800 }));

  for (const name of ["command", "diff", "long", "risky", "cut", "input"]) {
    it(`the buttons of an approval are in view, with a sign of what is below: ${name}`, async () => {
      const { page } = view;
      await show(page, `chat-approval-${name}`);
      const cards = page.getByRole("region", { name: "Needs you" });
      const foot = cards.locator("footer");
      const sign = foot.getByText("More below");
      const inView = async () => {
        const [box, buttons] = [await place(cards), await place(foot)];
        return buttons.top >= box.top && buttons.bottom <= box.bottom + 1;
      };
      assert.ok(await inView(), "at the beginning");
      assert.equal(
        await sign.isVisible(),
        await cards.evaluate((box) => box.scrollHeight > box.clientHeight + 1),
        "the sign is there when there is more",
      );
      await cards.evaluate((box) => box.scrollTo(0, box.scrollHeight));
      await sign.waitFor({ state: "detached" });
      assert.ok(await inView(), "at the end");
    });
  }

  it("the sign leads on to what is below", async () => {
    const { page } = view;
    await show(page, "chat-approval-long");
    const cards = page.getByRole("region", { name: "Needs you" });
    await cards.locator("footer").getByText("More below").click();
    await page.waitForFunction(() => document.querySelector("section[aria-label='Needs you']").scrollTop > 50);
  });

  it("the run strip keeps to one line, whatever it says", async () => {
    const { page } = view;
    for (const name of ["chat-waiting", "chat-retrying", "chat-approval-command", "chat-ceiling"]) {
      await show(page, name);
      const strip = page.getByRole("region", { name: "What is running" });
      assert.ok((await place(strip)).height < 50, name);
      assert.equal(await strip.evaluate((box) => box.scrollWidth > box.clientWidth), false, name);
      assert.match(await strip.textContent(), /\d+ (s|min) of \d+ min/, name);
    }
  });

  it("the filters of Activity stand in two even lines, and sentences are read to their end", async () => {
    const { page } = view;
    await show(page, "activity-many");
    const [search, ...filters] = await Promise.all(
      ["Search receipts", "Kind", "Outcome", "Tool"].map((name) => place(page.getByLabel(name, { exact: true }))),
    );
    assert.equal(new Set(filters.map((each) => each.top)).size, 1);
    assert.equal(new Set(filters.map((each) => Math.round(each.width))).size, 1);
    assert.ok(search.bottom <= filters[0].top && search.width > filters[0].width * 3);
    const cut = await page
      .locator("[class*=sentence]")
      .evaluateAll((sentences) =>
        sentences.filter((each) => each.scrollHeight > each.clientHeight + 1).map((each) => each.textContent),
      );
    assert.deepEqual(cut, []);
    const rows = await page
      .locator("[class*=canvas] > button")
      .evaluateAll((all) => all.map((row) => row.getBoundingClientRect().toJSON()).sort((a, b) => a.top - b.top));
    for (const [at, row] of rows.entries()) assert.ok(at === 0 || rows[at - 1].bottom <= row.top + 1, `row ${at}`);
  });
});

describe("a toast", () => {
  for (const [width, height] of [
    [450, 300],
    [900, 600],
    [1100, 700],
    [1400, 900],
  ]) {
    it(`covers neither what is written nor what is asked nor what runs, at ${width} × ${height}`, async () => {
      const { page } = view;
      await page.setViewportSize({ width, height });
      await openGallery(page, base);
      await show(page, "chat-toasts");
      // What lies under the messages, point by point; what was scrolled out of sight does not count.
      const under = await page.evaluate(() => {
        const box = document.querySelector("section[aria-label=Messages]").getBoundingClientRect();
        const found = new Set();
        for (let x = box.left + 4; x < box.right; x += 8) {
          for (let y = box.top + 4; y < box.bottom; y += 8) {
            for (const element of document.elementsFromPoint(x, y)) found.add(element.getAttribute("aria-label"));
          }
        }
        return [...found];
      });
      assert.ok(under.includes("Messages"));
      for (const region of ["Write a message", "Needs you", "What is running"])
        assert.equal(under.includes(region), false, region);
      assert.equal(await page.getByRole("region", { name: "Messages" }).getAttribute("aria-live"), "polite");
      await page.getByRole("button", { name: "Close", exact: true }).first().click();
      await page.setViewportSize({ width: 1200, height: 800 });
    });
  }
});

describe("a long chat", () => {
  it("of 5,000 messages opens at its end with a small page, and stays small while it is read and grows", async () => {
    const { page } = view;
    await openGallery(page, base);
    await show(page, "chat-many");
    const log = page.getByRole("log");
    const size = () =>
      page.evaluate(() => ({
        nodes: document.querySelectorAll("*").length,
        rows: document.querySelectorAll("[role=log] article").length,
      }));
    const isSmall = ({ nodes, rows }, when) => {
      assert.ok(rows > 0 && rows < 60, `${rows} rows ${when}`);
      assert.ok(nodes < 2500, `${nodes} nodes ${when}`);
    };
    assert.match(await log.textContent(), /Part 2500 is fine/);
    isSmall(await size(), "at the end");
    await log.hover();
    for (const share of [0.9, 0.5, 0.1, 0]) {
      // A turn of the wheel is what lets the list go from its end.
      await page.mouse.wheel(0, -400);
      await log.evaluate((box, to) => box.scrollTo(0, box.scrollHeight * to), share);
      await quiet(page);
      isSmall(await size(), `at ${share}`);
    }
    assert.match(await log.textContent(), /Question 1: /);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.evaluate(async () => {
      for (let at = 0; at < 300; at += 1) {
        document.dispatchEvent(new CustomEvent("append", { detail: `Line ${at}\n\n- a point` }));
        await new Promise((done) => requestAnimationFrame(done));
      }
    });
    await quiet(page);
    assert.match(await log.textContent(), /Line 299/);
    isSmall(await size(), "after 600 more");
  });

  it("stays where it is read while the end grows, and follows when its end is in view", async () => {
    const { page } = view;
    await page.goto(`${base}?scene=chat-many`);
    const log = page.getByRole("log");
    await quiet(page);
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
      await quiet(page);
      assert.ok((await distance()) <= 40, `follows what is appended, turn ${turn}`);
    }

    await log.hover();
    await page.mouse.wheel(0, -3000);
    await page.waitForFunction(() => {
      const box = document.querySelector("[role=log]");
      return box.scrollHeight - box.scrollTop - box.clientHeight > 1000;
    });
    await quiet(page);
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
    await quiet(page);
    const still = await page.evaluate(() => ({
      top: window.__row.getBoundingClientRect().top,
      words: window.__row.textContent,
    }));
    assert.equal(still.words, anchor.words);
    assert.ok(Math.abs(still.top - anchor.top) <= 1, `moved by ${still.top - anchor.top} px`);
  });
});
