// Measures the page with a chat of 5,000 messages (200 blocks of code, 50 pictures) in a real browser, and writes the
// figures as a list of {name, value, unit} to the file named on the command line. It judges nothing: on a busy machine
// the figures are worse, which is why none of them is a test. What does not depend on the machine, such as how much of
// the chat is in the page, is held by e2e/layout.test.mjs.
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openPage } from "../e2e/host.mjs";
import { openGallery, quiet, serveGallery, show } from "../gallery/page.mjs";

const front = fileURLToPath(new URL("..", import.meta.url));
const opens = 7;
const keys = 120;
const deltasPerSecond = 30;

const build = spawnSync("npx", ["vite", "build", "--mode", "gallery", "--logLevel", "error"], {
  cwd: front,
  stdio: "inherit",
});
if (build.status !== 0) process.exit(build.status ?? 1);

const gallery = await serveGallery();
const view = await openPage({ reducedMotion: "reduce" });
const { page, context } = view;
const devtools = await context.newCDPSession(page);
await devtools.send("Performance.enable");
const figures = [];
const add = (name, value, unit) => figures.push({ name, value: Number(value.toFixed(unit === "ms" ? 3 : 1)), unit });

/** What is held after everything that can be forgotten was. */
async function held() {
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const of = (name) => metrics.find((each) => each.name === name)?.value ?? 0;
  return { heap: of("JSHeapUsedSize") / 1e6, nodes: of("Nodes") };
}

// From the click to the frame in which the newest message is seen and a letter can be typed.
function open() {
  return page.evaluate(async (chat) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const usable = () => {
      const log = document.querySelector("[role=log]");
      const composer = document.querySelector("textarea");
      return log?.textContent?.includes("Part 2500 is fine") && document.activeElement === composer;
    };
    const begun = performance.now();
    window.location.hash = chat;
    while (!usable()) await frame();
    await frame();
    return performance.now() - begun;
  }, "#/chat/agent%3Amain%3Amain");
}

async function leave() {
  await page.evaluate(() => {
    window.location.hash = "#/tasks";
  });
  await page.getByRole("heading", { level: 1, name: "Tasks" }).waitFor();
  await quiet(page);
}

function sorted(values) {
  return [...values].sort((a, b) => a - b);
}

const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)];

async function opening() {
  await openGallery(page, gallery.base);
  const before = await held();
  await show(page, "chat-many");
  await leave();
  const took = [];
  for (let turn = 0; turn < opens; turn += 1) {
    took.push(await open());
    await quiet(page);
    await leave();
  }
  add("page.open.first", took[0], "ms");
  add("page.open.median", at(took, 0.5), "ms");
  add("page.open.worst", Math.max(...took), "ms");
  await open();
  await quiet(page);
  const after = await held();
  add("page.memory.open", after.heap - before.heap, "MB");
  add("page.nodes.open", after.nodes, "nodes");
  return after;
}

// A person types while a reply streams: for each key, from its press to the frame that shows it.
async function typing() {
  await page.getByRole("textbox", { name: /^Message/ }).click();
  await page.evaluate((perSecond) => {
    let at = 0;
    window.__stream = setInterval(() => {
      at += 1;
      const words = `word ${at} ${at % 25 === 0 ? "\n\n- a point\n- `code`\n\n" : ""}`;
      document.dispatchEvent(new CustomEvent("stream", { detail: words }));
    }, 1000 / perSecond);
    window.__keys = [];
    window.__frames = [];
    let last = performance.now();
    const frame = (now) => {
      window.__frames.push(now - last);
      last = now;
      window.__frame = requestAnimationFrame(frame);
    };
    window.__frame = requestAnimationFrame(frame);
    document.querySelector("textarea").addEventListener("keydown", (event) => {
      const pressed = event.timeStamp;
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => window.__keys.push(performance.now() - pressed);
        channel.port2.postMessage(0);
      });
    });
  }, deltasPerSecond);
  await page.keyboard.type("x".repeat(keys), { delay: 40 });
  const { pressed, frames } = await page.evaluate(() => {
    clearInterval(window.__stream);
    cancelAnimationFrame(window.__frame);
    return { pressed: window.__keys, frames: window.__frames };
  });
  add("page.key.median", at(pressed, 0.5), "ms");
  add("page.key.p95", at(pressed, 0.95), "ms");
  add("page.key.worst", Math.max(...pressed), "ms");
  add("page.frame.p95", at(frames, 0.95), "ms");
}

// Reading back through the whole chat, and a long reply after it: what is held must not grow with what was seen.
async function reading(before) {
  await page.evaluate(async () => {
    const log = document.querySelector("[role=log]");
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    log.dispatchEvent(new WheelEvent("wheel"));
    for (let step = 0; step < 120; step += 1) {
      log.dispatchEvent(new WheelEvent("wheel"));
      log.scrollTop = (log.scrollHeight * (119 - step)) / 120;
      await frame();
      await frame();
    }
    log.scrollTop = log.scrollHeight;
  });
  await quiet(page);
  const after = await held();
  add("page.memory.read", after.heap - before.heap, "MB");
  add("page.nodes.read", after.nodes, "nodes");
}

try {
  const opened = await opening();
  await reading(opened);
  await typing();
} finally {
  await view.browser.close();
  gallery.close();
}
for (const { name, value, unit } of figures)
  process.stdout.write(`${name.padEnd(28)} ${String(value).padStart(10)} ${unit}\n`);
const out = process.argv[2];
if (out) await writeFile(out, `${JSON.stringify(figures, null, 2)}\n`);
