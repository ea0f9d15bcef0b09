// What the tests stand on: where it does not start, they fail with its log, and do not wait for what started beside it.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startStand } from "./support/stand.mjs";
import { together } from "./support/together.mjs";

const given = process.env.ANABRANCH_PYTHON;
let directory;
before(() => {
  directory = mkdtempSync(join(tmpdir(), "stand-"));
});
after(() => {
  if (given === undefined) delete process.env.ANABRANCH_PYTHON;
  else process.env.ANABRANCH_PYTHON = given;
  rmSync(directory, { recursive: true });
});

/** A program in place of Python. */
function program(name, lines) {
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  process.env.ANABRANCH_PYTHON = file;
}

test("a stand that does not start fails with its log, and what started beside it is ended", async () => {
  program("failing", "echo 'the port is taken' >&2\nexit 3");
  let closed = 0;
  const beside = Promise.resolve({ close: () => (closed += 1) });
  await assert.rejects(together(beside, startStand()), /stand has ended with 3; its log ends with:\nthe port is taken/);
  assert.equal(closed, 1);
});

test("a stand that says something else than where it is fails, and is ended", async () => {
  program("talking", "echo 'a warning'\ncat >/dev/null\necho 'ended' >&2");
  await assert.rejects(startStand(), { name: "SyntaxError" });
});

test("a stand that ends while it is asked says so with its log", async () => {
  program("ending", `echo '{"url": "http://127.0.0.1:9", "tokens": {}}'\necho 'out of memory' >&2`);
  const stand = await startStand();
  await assert.rejects(stand.say("away"), /has ended with 0; its log ends with:\nout of memory/);
  await assert.rejects(stand.ask("GET", "links"), /out of memory/);
  await stand.end();
});

test("a Python that is not there is named", async () => {
  process.env.ANABRANCH_PYTHON = join(directory, "nothing");
  await assert.rejects(startStand(), /could not be started: spawn .*nothing ENOENT/);
});
