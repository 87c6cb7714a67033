// Serves the built gallery and shows its scenes, for the pictures and for the tests that need a real layout.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../node_modules/.gallery/", import.meta.url));
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2" };

/** A server on a free port of this computer. */
export async function serveGallery() {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://x").pathname);
    const body = await readFile(join(built, path === "/" ? "index.html" : path)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": types[extname(path)] ?? "text/html" }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { base: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** The names of all scenes, and the buttons that each wants pressed. Opens the gallery. */
export async function openGallery(page, base) {
  await page.goto(base);
  return JSON.parse(await page.locator("#root").textContent());
}

/** Shows a scene on the open gallery, and answers once it is drawn. */
export async function show(page, name) {
  await page.evaluate((which) => document.dispatchEvent(new CustomEvent("scene", { detail: which })), name);
  // This one says nothing for its first second.
  if (name === "starting") await page.getByRole("heading", { name: "Starting Countersign…" }).waitFor();
  await quiet(page);
}

/** Waits until nothing on the page has changed for some frames: answers have come, rows are measured, code is coloured. */
export function quiet(page) {
  return page.evaluate(
    (quietFrames) =>
      new Promise((done) => {
        let frames = 0;
        const observer = new MutationObserver(() => {
          frames = 0;
        });
        observer.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
        const frame = () => {
          frames += 1;
          if (frames <= quietFrames) {
            requestAnimationFrame(frame);
            return;
          }
          observer.disconnect();
          done();
        };
        requestAnimationFrame(frame);
      }),
    8,
  );
}
