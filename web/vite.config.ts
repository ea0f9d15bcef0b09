import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const service = process.env.ANABRANCH_URL ?? "http://127.0.0.1:8420";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/anabranch/service/static",
    emptyOutDir: true,
    // The policy of the service allows no scripts inside of the page.
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: {
      "/api": { target: service, changeOrigin: true, headers: { origin: service } },
    },
  },
});
