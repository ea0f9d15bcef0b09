// The service beside simulated clusters, or beside a sandbox with Spark and an OpenID provider, in a process of its own that ends with the test.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

const SCALE = Number(process.env.ANABRANCH_TIMEOUT_SCALE ?? 1);
/** How long it may take to start, and to end. */
const START_MS = 300_000 * SCALE;
const END_MS = 120_000 * SCALE;
/** How much of its log an error tells: the end of it. */
const LOG = 3_000;

export const startStand = (...options) => start("tests.integration.web.stand", options);
export const startSandbox = () => start("tests.integration.web.sandbox_stand", []);
export const startMigrations = (...options) => start("tests.integration.web.migration_stand", options);
export const startStreams = (...options) => start("tests.integration.web.streams_stand", options);
export const startAccess = (...options) => start("tests.integration.web.access_stand", options);
export const startPositions = (...options) => start("tests.integration.web.positions_stand", options);

async function start(module, options) {
  const own = join(ROOT, ".venv", "bin", "python");
  const python = process.env.ANABRANCH_PYTHON ?? (existsSync(own) ? own : "python3");
  const child = spawn(python, ["-m", module, ...options], { cwd: ROOT, stdio: "pipe" });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    log = (log + text).slice(-LOG);
    process.stderr.write(text);
  });
  child.stdin.on("error", () => undefined); // it has ended: whoever waits for it is told
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("close", (code, signal) => resolve(`has ended with ${signal ?? code}`));
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const fault = (what) => new Error(`${module} ${what}; its log ends with:\n${log}`);
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw fault(await ended);
    return JSON.parse(value);
  };

  /** Its end; one that does not end is ended: an interrupt has it clean up. */
  async function end() {
    child.stdin.end();
    if (await within(ended, END_MS)) return;
    child.kill("SIGINT");
    if (!(await within(ended, END_MS))) child.kill("SIGKILL");
    throw fault(`did not end within ${END_MS / 1000} s, and was ended`);
  }

  let told;
  try {
    told = await within(next(), START_MS);
    if (told === undefined) throw fault(`did not start within ${START_MS / 1000} s`);
  } catch (error) {
    child.kill("SIGINT");
    await end().catch(() => undefined);
    throw error;
  }

  const asked = (...request) =>
    fetch(...request).catch(async (error) => {
      throw child.exitCode === null && child.signalCode === null ? error : fault(await ended);
    });

  /** Ask the API as a role, as a program does. */
  async function ask(method, path, body, role = "admin") {
    const answer = await asked(`${told.url}/api/v1/${path}`, {
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
    /** Have it do something; what it found, where it was asked for something. */
    async say(word) {
      child.stdin.write(`${word}\n`);
      return (await next()).found;
    },
    end,
  };
}

/** What comes of something, or undefined where it takes longer. */
async function within(promise, ms) {
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
