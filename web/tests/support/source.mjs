// A module of the pages, as the browser gets it: for tests that need no browser.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

export async function source(path) {
  const file = fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
  const { module } = await runnerImport(file, { configFile: false, logLevel: "error" });
  return module;
}
