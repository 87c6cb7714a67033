// A line that breaks heals without a word; what the person asked for is not lost with it.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { newChat, openPage, practise, send, startHost, until } from "./host.mjs";

let host;
let view;
/** What happens to the page's line: closed at once, or chosen frames lost on the way. */
const line = { refuse: false, refused: 0, cutOn: undefined, forwardBeforeCut: true, dropEvent: () => false, open: [] };

before(async () => {
  host = await startHost();
  view = await openPage();
  await view.page.routeWebSocket(/\/ws$/, (ws) => {
    if (line.refuse) {
      line.refused += 1;
      void ws.close();
      return;
    }
    const server = ws.connectToServer();
    line.open.push(ws);
    ws.onMessage((frame) => {
      const cut = line.cutOn && String(frame).includes(`"${line.cutOn}"`);
      if (!cut || line.forwardBeforeCut) server.send(frame);
      if (!cut) return;
      line.cutOn = undefined;
      void ws.close();
      void server.close();
    });
    server.onMessage((frame) => {
      if (!line.dropEvent(String(frame))) ws.send(frame);
    });
  });
  await view.page.goto(host.url);
  await practise(view.page);
});

after(async () => {
  await view?.browser.close();
  await host?.stop();
  await host?.forget();
});

beforeEach(() =>
  Object.assign(line, { refuse: false, cutOn: undefined, forwardBeforeCut: true, dropEvent: () => false }),
);

const banners = () => view.page.getByRole("alert").count();

describe("a lost connection", () => {
  it("heals without a banner when it is short, and what was written meanwhile is sent once", async () => {
    const { page } = view;
    line.refuse = true;
    await line.open.at(-1).close();
    await send(page, "list this folder");
    // It has tried again and failed, and still says nothing.
    await until("another attempt", () => line.refused >= 2);
    assert.equal(await banners(), 0);
    line.refuse = false;
    await page.getByRole("button", { name: /List/ }).first().waitFor();
    assert.equal(await page.getByRole("log").getByText("list this folder", { exact: true }).count(), 1);
    assert.equal(await banners(), 0);
  });

  it("is said when it lasts longer than five seconds, and goes again by itself", async () => {
    const { page } = view;
    line.refuse = true;
    await line.open.at(-1).close();
    await page.getByRole("alert").waitFor({ timeout: 15_000 });
    line.refuse = false;
    await page.getByRole("alert").waitFor({ state: "detached", timeout: 15_000 });
  });

  it("with dropped events is caught up silently", async () => {
    const { page } = view;
    let events = 0;
    let ended = false;
    line.dropEvent = (frame) => {
      if (!frame.includes('"type":"event"')) return false;
      ended ||= frame.includes('"event":"chat"') && frame.includes('"state":"final"');
      events += 1;
      return events % 4 === 0;
    };
    await newChat(page);
    await send(page, "list this folder then list this folder");
    await until("the end of the run", () => ended);
    line.dropEvent = () => false;
    // The next event shows that some are missing; what they told is fetched.
    await send(page, "list this folder");
    const listed = page.getByRole("log").getByRole("button", { name: /Listed/ });
    await listed.nth(2).waitFor();
    await page.getByRole("region", { name: "What is running" }).waitFor({ state: "detached" });
    const shown = await page.getByRole("log").locator("article").allTextContents();
    await page.reload();
    await listed.nth(2).waitFor();
    assert.equal((await page.getByRole("log").locator("article").allTextContents()).length, shown.length);
    assert.equal(await listed.count(), 3);
    assert.equal(await banners(), 0);
  });

  for (const forward of [true, false]) {
    it(`keeps Stop when it breaks right ${forward ? "after" : "before"} it is sent`, async () => {
      const { page } = view;
      await send(page, "run sleep 300");
      await page.getByRole("button", { name: "Allow once" }).click();
      await page.getByRole("button", { name: "Allow once" }).waitFor({ state: "detached" });
      Object.assign(line, { cutOn: "chat.abort", forwardBeforeCut: forward });
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await page.getByRole("region", { name: "What is running" }).waitFor({ state: "detached", timeout: 20_000 });
      await page.getByText("Stopped", { exact: true }).last().waitFor();
    });
  }
});
