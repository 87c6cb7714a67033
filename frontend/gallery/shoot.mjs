// Draws every scene in three widths and both themes into ../gallery, with an index. Names as arguments draw only those.

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { openGallery, quiet, serveGallery, show } from "./page.mjs";

const out = fileURLToPath(new URL("../../gallery/", import.meta.url));
const widths = [900, 1100, 1440];
const themes = ["light", "dark"];

const { base, close } = await serveGallery();
await mkdir(out, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const problems = [];
try {
  const first = await browser.newPage();
  const scenes = await openGallery(first, base);
  await first.close();
  const only = process.argv.slice(2);
  for (const width of widths) {
    for (const theme of themes) {
      const context = await browser.newContext({
        viewport: { width, height: width === 900 ? 600 : 800 },
        colorScheme: theme,
        reducedMotion: "reduce",
      });
      const page = await context.newPage();
      let name = "";
      page.on("console", (said) => said.type() === "error" && problems.push(`${name}: ${said.text()}`));
      page.on("pageerror", (error) => problems.push(`${name}: ${error.message}`));
      page.on(
        "request",
        (request) =>
          request.url().startsWith(base) ||
          request.url().startsWith("data:") ||
          problems.push(`${name}: asked for ${request.url()}`),
      );
      await page.goto(base);
      for (const scene of scenes) {
        if (only.length > 0 && !only.includes(scene.name)) continue;
        name = scene.name;
        await show(page, name);
        for (const label of scene.press ?? []) {
          await page
            .getByRole("button", { name: label })
            .first()
            .click({ timeout: 3000 })
            .catch((error) => problems.push(`${name}: cannot press ${label}: ${error.message.split("\n")[0]}`));
        }
        await quiet(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
        if (wide) problems.push(`${name} at ${width}: wider than the window`);
        await page.screenshot({ path: join(out, `${scene.name}-${width}-${theme}.png`) });
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  close();
}

const pictures = (await readdir(out)).filter((file) => file.endsWith(".png")).sort();
const figure = (file) =>
  `<figure><a href="${file}"><img loading="lazy" src="${file}" alt="${file}"></a><figcaption>${file}</figcaption></figure>`;
await writeFile(
  join(out, "index.html"),
  `<!doctype html><meta charset="utf-8"><title>Gallery</title><style>body{font:13px sans-serif;margin:16px;display:grid;grid-template-columns:repeat(auto-fill,minmax(420px,1fr));gap:16px}img{width:100%;border:1px solid #ccc}figure{margin:0}</style>${pictures.map(figure).join("\n")}\n`,
);
process.stdout.write(`gallery: ${pictures.length} pictures in ${out}\n`);
if (problems.length > 0) {
  process.stderr.write(`${[...new Set(problems)].join("\n")}\n`);
  process.exitCode = 1;
}
