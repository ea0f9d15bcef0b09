// Writes src/api/schema.d.ts from the service's OpenAPI; with --check it only says whether that is fresh.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const file = join(root, "web", "src", "api", "schema.d.ts");
const own = join(root, ".venv", "bin", "python");
const python = existsSync(own) ? own : "python3";
const document = JSON.parse(execFileSync(python, ["-m", "qa.openapi"], { cwd: root, maxBuffer: 1 << 26 }).toString());
const head = "// Made by `npm run api` from the service's OpenAPI; `npm run api:check` says whether it is fresh.\n\n";
const made = head + astToString(await openapiTS(document));
const fresh = existsSync(file) && readFileSync(file, "utf8") === made;
if (process.argv.includes("--check")) {
  if (!fresh) {
    console.error("web/src/api/schema.d.ts is not what the service's OpenAPI says: run `npm run api` in web/");
    process.exit(1);
  }
} else if (!fresh) {
  writeFileSync(file, made);
}
