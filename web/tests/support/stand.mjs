// The service beside simulated clusters, or beside a sandbox with Spark and an OpenID provider, in a process of its own that ends with the test.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

export const startStand = (...options) => start("tests.integration.web.stand", options);
export const startSandbox = () => start("tests.integration.web.sandbox_stand", []);

async function start(module, options) {
  const own = join(ROOT, ".venv", "bin", "python");
  const python = process.env.ANABRANCH_PYTHON ?? (existsSync(own) ? own : "python3");
  const child = spawn(python, ["-m", module, ...options], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the stand has ended");
    return JSON.parse(value);
  };
  const told = await next();
  const ended = new Promise((resolve) => child.once("exit", resolve));

  /** Ask the API as a role, as a program does. */
  async function ask(method, path, body, role = "admin") {
    const answer = await fetch(`${told.url}/api/v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${told.tokens[role]}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  }

  return {
    ...told,
    ask,
    /** Plan and apply as an approver, and wait for the end of it. */
    async apply(verb, body) {
      const plan = await ask("POST", `${verb}/plan`, body, "approver");
      const begun = await ask("POST", `plans/${plan.body.id}/apply`, { hash: plan.body.hash }, "approver");
      for (;;) {
        const work = await ask("GET", `operations/${begun.body.id}`);
        if (work.body.state !== "running") return work.body;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    plan: async (verb, body, role = "operator") => (await ask("POST", `${verb}/plan`, body, role)).body,
    async say(word) {
      child.stdin.write(`${word}\n`);
      await next();
    },
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}
