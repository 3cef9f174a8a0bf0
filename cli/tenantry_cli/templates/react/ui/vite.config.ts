import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Relative addresses: publishing gives the built tree an address of its own, and rewrites what index.html names.
// cssTarget: for older browsers light-dark() would follow the system's theme, not the one ChatGPT has.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: { outDir: "../widgets/app", emptyOutDir: true, modulePreload: { polyfill: false }, cssTarget: ["chrome123", "safari17.5"] },
});
