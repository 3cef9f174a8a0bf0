// Two builds into ../dist: the pages (index, proxy, callback), and with `--mode widget` the script that runs inside
// widgets as one classic file, since it must run before anything else and under the widget's own policy.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ mode }) =>
  mode === "widget"
    ? {
        publicDir: false,
        build: {
          outDir: "../dist",
          emptyOutDir: false,
          lib: { entry: here("src/shim/openai.ts"), formats: ["iife"], name: "tenantryShim", fileName: () => "openai.js" },
        },
      }
    : {
        base: "/_host/page/",
        oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
        build: {
          outDir: "../dist",
          emptyOutDir: true,
          modulePreload: { polyfill: false },
          chunkSizeWarningLimit: 1200,
          rollupOptions: { input: [here("index.html"), here("proxy.html"), here("callback.html"), here("sign-in.html"), here("sign-in-error.html")] },
        },
      },
);
