// What the page shows is what a reload shows, and one outcome has one word wherever it stands.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { newChat, openPage, practise, send, startHost } from "./host.mjs";

let host;
let view;

before(async () => {
  host = await startHost();
  view = await openPage();
  await view.page.goto(host.url);
  await practise(view.page);
});

after(async () => {
  await view?.browser.close();
  await host?.stop();
  await host?.forget();
});

beforeEach(async () => {
  const { page } = view;
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.waitForURL(/#\/chat\/./);
  await newChat(page);
});

const stop = () => view.page.getByRole("button", { name: "Stop", exact: true });
const card = (words) => view.page.getByRole("log").getByRole("button", { name: words });
const strip = () => view.page.getByRole("region", { name: "What is running" });

async function allow() {
  const button = view.page.getByRole("button", { name: "Allow once" });
  await button.click();
  await button.waitFor({ state: "detached" });
}

/** The conversation as it is read, without the moments, which go on. */
async function conversation() {
  const rows = await view.page.getByRole("log").locator("article").allTextContents();
  return rows.map((row) => row.replace(/just now|\d+ \w+ ago/g, "…"));
}

async function equalsReload() {
  const shown = await conversation();
  await view.page.reload();
  await view.page.getByRole("log").locator("article").first().waitFor();
  assert.deepEqual(await conversation(), shown);
  return shown;
}

/** The word for the newest receipt in Activity, in the list and in its detail. */
async function inActivity(sentence) {
  const { page } = view;
  await page.getByRole("link", { name: "Activity" }).click();
  const row = page.getByRole("button", { name: sentence }).first();
  const listed = await row.locator("[class*=visually-hidden]").first().textContent();
  await row.click();
  const detail = page.getByRole("complementary", { name: "Receipt" });
  await detail.getByText(listed, { exact: true }).first().waitFor();
  return listed;
}

describe("a transcript", () => {
  it("is after an edit that follows Stop what a reload shows", async () => {
    const { page } = view;
    await send(page, "run sleep 300");
    await allow();
    await strip().getByText("sleep").waitFor();
    await stop().click();
    await page.getByText("Stopped", { exact: true }).last().waitFor();
    await page.getByRole("button", { name: "Edit and send again" }).click();
    await page.getByRole("textbox", { name: /^Message/ }).fill("list this folder");
    await page.getByRole("textbox", { name: /^Message/ }).press("Enter");
    await card(/Listed/).waitFor();
    await strip().waitFor({ state: "detached" });
    const shown = await equalsReload();
    assert.equal(shown.filter((row) => row.includes("sleep")).length, 0, "nothing is left of what was edited away");
  });

  it("changes with an edit in another window too", async () => {
    const { page, context } = view;
    await send(page, "list this folder");
    await card(/Listed/).waitFor();
    await strip().waitFor({ state: "detached" });
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole("button", { name: "Edit and send again" }).click();
    await other.getByRole("textbox", { name: /^Message/ }).fill("say something else");
    await other.getByRole("textbox", { name: /^Message/ }).press("Enter");
    await page.getByRole("log").getByText("say something else", { exact: true }).waitFor();
    await page.getByText("something else", { exact: true }).waitFor();
    await other.close();
    const shown = await equalsReload();
    assert.equal(shown.filter((row) => row.includes("list this folder")).length, 0);
  });
});

describe("an outcome", () => {
  it("of a command that reports an error has one word everywhere, neither green nor red", async () => {
    const { page } = view;
    await send(page, "run ls /nowhere");
    await allow();
    await card(/Ran ls \/nowhere/).waitFor();
    await strip().waitFor({ state: "detached" });
    const [row] = (await equalsReload()).filter((each) => each.includes("Ran ls"));
    assert.match(row, /Done, exit 2/);
    const colour = await card(/Ran ls \/nowhere/)
      .locator("svg")
      .nth(1)
      .evaluate((mark) => getComputedStyle(mark).color);
    const plain = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("i"));
      probe.style.color = "var(--ink-2)";
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    });
    assert.equal(colour, plain);
    assert.equal(await inActivity(/Ran ls \/nowhere/), "Done, exit 2");
  });

  it("of a command that was stopped has one word everywhere", async () => {
    const { page } = view;
    await send(page, "run sleep 301");
    await allow();
    await strip().getByText("sleep").waitFor();
    await stop().click();
    await page.getByText("Stopped", { exact: true }).last().waitFor();
    await card(/Began to run sleep 301/).waitFor();
    const [row] = (await equalsReload()).filter((each) => each.includes("Began to run"));
    assert.match(row, /^Stopped/);
    assert.equal(await inActivity(/Began to run sleep 301/), "Stopped");
  });
});

describe("a message behind a run at work", () => {
  it("waits its turn visibly, can be stopped, and is read when its turn comes", async () => {
    const { page } = view;
    await send(page, "run sleep 302");
    await allow();
    await strip().getByText("sleep").waitFor();
    await send(page, "say never");
    const waiting = page.getByRole("article").filter({ hasText: "Waiting its turn" });
    await waiting.filter({ hasText: "say never" }).waitFor();
    await strip().getByText("1 more waiting").waitFor();
    await waiting.getByRole("button", { name: "Stop this message before it begins" }).click();
    await page.getByText("You stopped this before it began. Nothing was done.").waitFor();
    await send(page, "say at last");
    await waiting.filter({ hasText: "say at last" }).waitFor();
    await page.reload();
    await waiting.filter({ hasText: "say at last" }).waitFor();
    await stop().click();
    await page.getByText("at last", { exact: true }).waitFor();
    await waiting.waitFor({ state: "detached" });
    const shown = await equalsReload();
    assert.equal(shown.filter((each) => /never/.test(each)).length, 1, "what was stopped is not answered");
  });
});
