// Starts the real host on a fresh data folder, and a real browser that keeps a list of all it asked for.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const repo = fileURLToPath(new URL("../..", import.meta.url));

function binary() {
  const given = process.env.COUNTERSIGN_BIN ?? join(repo, "bin/countersign");
  if (existsSync(given)) return given;
  const made = join(tmpdir(), `countersign-e2e-${process.pid}`);
  const built = spawnSync("go", ["build", "-o", made, "./backend/cmd/countersign"], { cwd: repo, stdio: "inherit" });
  if (built.status !== 0) throw new Error("the host does not build");
  return made;
}

/** A port that is free now; the host listens there again after a restart. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** A data folder and the host on it. */
export async function startHost(options = {}) {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "countersign-e2e-")));
  const port = options.port ?? (await freePort());
  const child = spawn(binary(), ["serve", "--home", home, "--listen", `127.0.0.1:${port}`], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, COUNTERSIGN_HOME: home, DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent" },
  });
  let log = "";
  child.stderr.on("data", (piece) => {
    log += piece;
  });
  const ended = new Promise((done) => child.once("exit", done));
  const ready = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece) => {
      text += piece;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(JSON.parse(text.slice(0, end)));
    });
    ended.then(() => reject(new Error(`the host ended before it was ready:\n${log}`)));
  });
  return {
    home,
    port,
    // The page's address with its ticket, good once.
    url: ready.open,
    ticket: ready.ticket,
    workspace: join(home, "workspace"),
    log: () => log,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
    },
    async forget() {
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** A browser page that opens an address, with a record of every request, error and refusal. */
export async function openPage(options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const requests = [];
  const errors = [];
  const frames = [];
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => frames.push(String(payload))));
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (said) => {
    if (said.type() === "error") errors.push(said.text());
  });
  page.on("dialog", (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // The calls of a method that the page has made so far, as they were sent.
  const sent = (method) => frames.filter((frame) => frame.includes(`"method":"${method}"`));
  return { browser, context, page, requests, errors, sent };
}

/** Goes through the first run with the practice model and what is proposed. */
export async function practise(page) {
  await page.getByRole("button", { name: "Practise", exact: true }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("textbox", { name: /^Message/ }).waitFor();
}

/** Writes a message and sends it. */
export async function send(page, text) {
  const box = page.getByRole("textbox", { name: /^Message/ });
  await box.fill(text);
  await box.press("Enter");
}

/** Opens a new chat; answers once it is the one that is shown. */
export async function newChat(page) {
  const before = page.url();
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await page.waitForURL((url) => url.href !== before);
  await page.getByRole("log").waitFor({ state: "detached" });
}

/** Requests that left this computer's own address. */
export function foreign(requests, base) {
  const origin = new URL(base).origin;
  return requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("blob:"));
}

/** Waits for something that the page does not show. */
export async function until(what, check) {
  const end = Date.now() + 20_000;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
