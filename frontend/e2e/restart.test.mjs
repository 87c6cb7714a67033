// A host that ends and starts again: nothing that was said is lost, and the page comes back by itself.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openPage, practise, send, startHost } from "./host.mjs";

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

describe("a host that starts again", () => {
  it("still asks what it asked before, also after a kill", async () => {
    const { page } = view;
    await send(page, "write kept.md: still here");
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    const { home, port } = host;
    await host.stop("SIGKILL");
    host = await startHost({ home, port });
    // Nobody opens the page again: it keeps what it shows, and its cookie lets it in.
    await page.getByRole("log").getByText("write kept.md: still here").waitFor();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page
      .getByText(/Allowed once/)
      .first()
      .waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });
});
