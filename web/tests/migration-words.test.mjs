// What is told of migrations in words, and pauses and times of steps: without a browser.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { source } from "./support/source.mjs";

let waves;
let pause;
let approval;
let file;
let throttle;
let access;
before(async () => {
  waves = await source("migrations/waves.ts");
  pause = await source("migrations/pause.ts");
  approval = await source("plans/approval.ts");
  file = await source("migrations/file.ts");
  throttle = await source("migrations/throttle.ts");
  access = await source("migrations/access.ts");
});

const MIGRATION = { name: "move", source: "old", target: "new" };
const WAVE = { name: "orders", state: "copying", at: "old", link: "move-orders", leg: 0, part: "all", switched: [], held: "", lost: "", doubts: [], is_gone: false, gone: "", run: null };
const RUN = {
  ...{ id: "1", wave: "orders", what: "switch", part: "all", state: "going on", is_open: true, at: 2, steps: 14, has_passed: false },
  ...{ cancelled: "", why: "", waits: "", longest_ms: 30_000, paused_since_ms: null, paused_until_ms: null },
};

test("a wave says where it stands, and what can be asked for there", () => {
  const verbs = (wave) => waves.actionsOf({ ...WAVE, ...wave }).map(({ verb }) => verb);
  assert.deepEqual(verbs({ state: "planned" }), ["start"]);
  assert.deepEqual(verbs({}), ["switch", "verify", "cancel"]);
  assert.deepEqual(verbs({ state: "partly switched", leg: 0, part: "producers", switched: ["consumers"] }), ["switch", "reverse", "verify"]);
  assert.deepEqual(verbs({ state: "partly switched", leg: 1, part: "producers", switched: ["consumers"] }), ["reverse", "switch", "verify"]);
  assert.deepEqual(verbs({ state: "switched", leg: 1, at: "new" }), ["complete", "verify", "reverse"]);
  assert.deepEqual(verbs({ state: "switched", leg: 1, at: "new", is_gone: true, gone: "old" }), ["reconcile", "complete", "reverse"]);
  assert.deepEqual(verbs({ state: "completed", leg: 1, at: "new" }), []);
  const partly = { ...WAVE, state: "partly switched", part: "producers", switched: ["consumers"] };
  assert.equal(waves.standsWords(partly, MIGRATION), "Its consumers are on new; its producers are still on old.");
  assert.equal(waves.thereOf({ ...WAVE, leg: 1 }, MIGRATION), "old");
  assert.equal(waves.hasLink({ ...WAVE, state: "planned" }), false);
  assert.equal(waves.hasLink({ ...WAVE, state: "planned", run: { ...RUN, what: "start" } }), true);
  assert.equal(waves.wavesWords([WAVE, { ...WAVE, state: "switched" }, WAVE]), "2 copying, 1 switched");
});

test("a migration says by what its copying is slowed down, or that nothing does", () => {
  const seen = { at_ms: 5, rates: { "move-orders": null }, is_paused: false, reasons: [], factors: [], failures: [], state: {} };
  const of = (more, operator) => throttle.copyingOf({ seen: { ...seen, ...more }, ...(operator ? { operator } : {}) });
  assert.deepEqual(throttle.copyingOf({}), { words: "nothing slows it down", reasons: [], failures: [], seenMs: null });
  assert.deepEqual(of({}), { words: "nothing slows it down", reasons: [], failures: [], seenMs: 5 });
  assert.equal(of({ rates: { "move-orders": 50e6 } }).words, "nothing slows it down; move-orders at most 50.0 MB/s");
  const quota = of({ rates: { "move-orders": 5e6 }, reasons: ["new: broker 1 says a quota is exceeded"], failures: ["link b: no answer"] });
  assert.deepEqual(quota, { words: "slowed down; move-orders at most 5.0 MB/s", reasons: ["new: broker 1 says a quota is exceeded"], failures: ["link b: no answer"], seenMs: 5 });
  assert.equal(of({ is_paused: true, rates: { "move-orders": 1 }, reasons: ["new: broker 1 is away"] }).words, "it stands still");
  assert.deepEqual(throttle.copyingOf({ operator: { rate: 1e6, is_paused: false } }).reasons, ["a person allows 1.0 MB/s"]);
  assert.equal(throttle.isHeldBack({ operator: { rate: null, is_paused: true } }), true);
  assert.equal(throttle.isHeldBack({ operator: { rate: null, is_paused: false }, seen }), false);
});

test("a migration says when its access rules were carried over, what that changed last, and for which waves it fails", () => {
  const look = { at_ms: 90, good_ms: 90, why: "", changed_ms: null, created: 0, deleted: 0, quotas: 0 };
  assert.equal(access.carriedOver({}), null);
  assert.deepEqual(access.carriedOver({ orders: look }), { words: "nothing had to be changed", goodMs: 90, changedMs: null, failures: [] });
  const changed = { ...look, good_ms: 80, changed_ms: 40, created: 2, deleted: 1, quotas: 1 };
  const found = access.carriedOver({ orders: { ...changed, changed_ms: 30, created: 7 }, clicks: changed, bills: { ...look, good_ms: 20, why: "old does not answer" } });
  const words = "2 rules made, 1 deleted, 1 quota changed";
  assert.deepEqual(found, { words, goodMs: 80, changedMs: 40, failures: [{ wave: "bills", why: "old does not answer", goodMs: 20 }] });
  assert.equal(access.carriedOver({ orders: { ...look, good_ms: null, why: "no" } }).goodMs, null);
});

test("a wave that was switched without its source says so, and is reconciled or completed", () => {
  const lost = { ...WAVE, state: "switched", leg: 1, at: "new", link: "move-orders-back", lost: "source lost" };
  assert.deepEqual(waves.actionsOf(lost).map(({ verb }) => verb), ["reconcile", "complete"]);
  assert.equal(waves.standsWords(lost, MIGRATION), "Its applications are on new, and there is no way back to old: source lost.");
  assert.equal(waves.hasLink(lost), false);
  assert.equal(waves.waveState({ ...lost, run: { ...RUN, what: "reconcile" } }).words, "being reconciled");
});

test("a wave that was led back without its target says so, and is reconciled or cancelled", () => {
  const verbs = (wave) => waves.actionsOf(wave).map(({ verb }) => verb);
  const lost = { ...WAVE, leg: 2, link: "move-orders-2", lost: "target lost", is_gone: true, gone: "new" };
  assert.deepEqual(verbs(lost), ["reconcile", "cancel"]);
  assert.equal(waves.standsWords(lost, MIGRATION), "Its applications are on old, and there is no way to new: target lost.");
  const gone = { ...WAVE, is_gone: true, gone: "new" };
  assert.deepEqual(verbs(gone), ["reconcile", "switch", "cancel"]);
  assert.equal(waves.standsWords(gone, MIGRATION), "Its applications are on old; new did not answer, and move-orders copies on once it is reconciled.");
});

test("what is under way comes first, and is given up only before the point of no return", () => {
  assert.equal(waves.waveState({ ...WAVE, run: RUN }).words, "being switched");
  assert.equal(waves.waveState({ ...WAVE, run: { ...RUN, is_open: false, state: "done" } }).words, "copying");
  assert.equal(waves.waveState({ ...WAVE, run: { ...RUN, cancelled: "mei: no" } }).words, "being taken back");
  assert.equal(waves.underWayWords(RUN), "switch of wave orders: step 3 of 14");
  assert.equal(waves.whyNotGivenUp(RUN, false), null);
  assert.match(waves.whyNotGivenUp({ ...RUN, has_passed: true }, false), /point of no return/);
  assert.equal(waves.whyNotGivenUp({ ...RUN, has_passed: true }, true), null);
  // Told too late to give it up, it goes on.
  assert.equal(waves.runState({ ...RUN, cancelled: "mei: no", has_passed: true }).words, "going on");
});

test("a pause runs, ends, and is a share of the longest one", () => {
  assert.equal(pause.pauseOf({ ...RUN, what: "start", longest_ms: null }, 0), null);
  assert.deepEqual(pause.pauseOf(RUN, 5_000), { state: "not yet", ms: 0, used: 0 });
  assert.deepEqual(pause.pauseOf({ ...RUN, paused_since_ms: 1_000 }, 4_000), { state: "running", ms: 3_000, used: 0.1 });
  const over = { ...RUN, is_open: false, state: "done", paused_since_ms: 1_000, paused_until_ms: 61_000 };
  assert.deepEqual(pause.pauseOf(over, 99_000), { state: "over", ms: 60_000, used: 1 });
  assert.equal(pause.pauseOf({ ...RUN, is_open: false, state: "taken back" }, 0).state, "none");
});

test("a step took the time since the one before it", () => {
  const steps = [
    { state: "done", ended_ms: 1_400 },
    { state: "done", ended_ms: 1_900 },
    { state: "doing", ended_ms: null },
    { state: "to do", ended_ms: null },
  ];
  assert.deepEqual(steps.map((_, at) => pause.stepMs(1_000, steps, at, 5_000)), [400, 500, 3_100, null]);
  assert.equal(pause.took(400), "400 ms");
  assert.equal(pause.took(3_100), "3.1 s");
});

test("an approver who did not ask approves, and nobody else", () => {
  assert.equal(approval.whyNotApproved("mei", "ann", "move", ["mei"]), null);
  assert.match(approval.whyNotApproved("mei", "mei", "move", ["mei", "bo"]), /somebody else of mei, bo has to approve it/);
  assert.equal(approval.whyNotApproved("ann", "mei", "move", ["mei"]), "ann is no approver of migration move: mei is");
  const asks = (verb, request = {}, plan = {}) => approval.isApproved({ verb: `migrations.${verb}`, request, plan });
  assert.deepEqual(["switch", "reverse", "complete", "start", "cancel", "reconcile"].map((verb) => asks(verb)), [true, true, true, false, false, false]);
  assert.equal(asks("cancel", { purge: true }), true);
  assert.equal(asks("reconcile", { tail: "append" }), true);
  assert.equal(asks("set", {}, { before: { approvers: ["mei", "bo"] }, after: {} }), true);
  assert.equal(asks("set", {}, { before: { approvers: ["mei", "bo"] }, after: { approvers: ["bo", "mei"] } }), false);
});

test("a migration file is read, or said what is wrong with it", () => {
  assert.deepEqual(file.migrationOf("name: move\nwaves: []"), { migration: { name: "move", waves: [] }, wrong: null });
  assert.match(file.migrationOf("- move").wrong, /has fields at its top/);
  assert.match(file.migrationOf("a: *b").wrong, /^not read: line 1/);
});
