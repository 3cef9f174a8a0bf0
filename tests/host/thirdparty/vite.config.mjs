// router.tsx as one classic script, dist/router.js. Built with the Vite of the page of `platform dev`.
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export default {
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "error", // a warning says that "use client" means nothing in one script
  build: { lib: { entry: here("router.tsx"), formats: ["iife"], name: "router", fileName: () => "router.js" } },
};
