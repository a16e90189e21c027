import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const OUT = "../src/comfyfleet/_web";
const WORTH_BYTES = 1024;

/** Compressed once here, so that the server never has to. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      const folder = join(import.meta.dirname, OUT, "assets");
      for (const name of readdirSync(folder).filter((each) => /\.(js|css|svg)$/.test(each))) {
        const path = join(folder, name);
        const bytes = readFileSync(path);
        if (bytes.length < WORTH_BYTES) continue;
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(bytes));
      }
    },
  };
}

/** What the API reference at /docs loads, which the server makes: files of a package as they are. */
function apiReference(): Plugin {
  const folder = join(import.meta.dirname, "node_modules/swagger-ui-dist");
  return {
    name: "api-reference",
    apply: "build",
    buildStart() {
      for (const name of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
        this.emitFile({ type: "asset", name, source: readFileSync(join(folder, name)) });
      }
    },
  };
}

export default defineConfig({
  base: "/",
  plugins: [react(), apiReference(), compressed()],
  resolve: { alias: { "@": join(import.meta.dirname, "src") } },
  // Browsers that know light-dark(): what it is rewritten to for older ones needs a scheme that is set in the same file.
  build: { outDir: OUT, emptyOutDir: true, target: "es2022", cssTarget: ["chrome125", "firefox125", "safari17.5"], reportCompressedSize: false, chunkSizeWarningLimit: 700 },
  server: { proxy: { "/api": "http://127.0.0.1:8700", "/objects": "http://127.0.0.1:8700" } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
