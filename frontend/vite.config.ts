import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// The Go embed directive needs dist/ to exist in a fresh checkout, and emptying it on a build would delete the marker.
const keepMarker = {
  name: "keep-dist-marker",
  closeBundle(): void {
    writeFileSync(at("./dist/.gitkeep"), "");
  },
};

export default defineConfig(({ mode }) => {
  const gallery = mode === "gallery";
  return {
    root: gallery ? at("./gallery") : at("."),
    base: "./",
    resolve: { alias: { "@gallery": at("./gallery"), "@": at("./src") } },
    plugins: gallery ? [react()] : [react(), keepMarker],
    build: {
      outDir: gallery ? at("./node_modules/.gallery") : at("./dist"),
      emptyOutDir: true,
      target: "es2022",
      // Inlined assets become data: URLs, which the content security policy refuses for fonts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 900,
    },
    server: { host: "127.0.0.1", proxy: { "/ws": { target: "http://127.0.0.1:8765", ws: true } } },
    test: {
      root: at("."),
      environment: "happy-dom",
      include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}"],
      setupFiles: [at("./test/setup.ts")],
      css: { modules: { classNameStrategy: "non-scoped" } },
      restoreMocks: true,
      maxWorkers: 2,
    },
  };
});
