// The service's clock as the page knows it: how far ahead it is, and not how long an answer took.
import assert from "node:assert/strict";
import { before, mock, test } from "node:test";
import { source } from "./support/source.mjs";

let noteServerTime;
let nowMs;
before(async () => {
  ({ noteServerTime, nowMs } = await source("format/clock.ts"));
});

const NOON = Date.parse("2026-11-30T12:00:00Z");
const header = (ms) => new Date(ms).toUTCString();

test("an answer that took long is no difference of clocks, and one of another hour is", () => {
  mock.timers.enable({ apis: ["Date"], now: NOON + 5_000 });
  noteServerTime(header(NOON), NOON);
  assert.equal(nowMs(), NOON + 5_000);
  noteServerTime(header(NOON + 3_600_000), NOON + 5_000);
  assert.equal(nowMs(), NOON + 3_600_500);
  noteServerTime(header(NOON - 3_600_000), NOON + 5_000);
  assert.equal(nowMs(), NOON - 3_599_500);
  noteServerTime(null, NOON);
  assert.equal(nowMs(), NOON - 3_599_500);
  mock.timers.reset();
});
