import { seconds, whole } from "../format/numbers";
import type { WaveRun } from "./waves";

export interface Pause {
  state: "none" | "not yet" | "running" | "over";
  ms: number;
  /** How much of the longest pause is used, from 0 to 1; null where there is no longest one. */
  used: number | null;
}

/** For how long a run holds applications up; null for one that holds nobody up. */
export function pauseOf(run: WaveRun, nowMs: number): Pause | null {
  if (run.what !== "switch" && run.what !== "reverse") return null;
  const { paused_since_ms: since, paused_until_ms: until, longest_ms: longest } = run;
  if (since === null) return { state: run.is_open ? "not yet" : "none", ms: 0, used: longest === null ? null : 0 };
  const ms = Math.max(0, (until ?? nowMs) - since);
  return { state: until === null ? "running" : "over", ms, used: longest === null ? null : Math.min(1, ms / longest) };
}

/** A time to the millisecond where it was measured, as in "1,234 ms". */
export const exactly = (ms: number): string => `${whole(ms)} ms`;

/** How long something took: short ones in milliseconds. */
export const took = (ms: number): string => (ms < 1_000 ? exactly(Math.max(0, ms)) : seconds(ms / 1000));

interface Step {
  ended_ms: number | null;
  state: string;
}

/** How long a step took, or has taken until now; null where that is not known: one that is to do, or is put back. */
export function stepMs(began: number, steps: readonly Step[], at: number, nowMs: number): number | null {
  const step = steps[at];
  const before = at === 0 ? began : (steps[at - 1]?.ended_ms ?? null);
  if (step === undefined || before === null) return null;
  if (step.ended_ms !== null) return Math.max(0, step.ended_ms - before);
  return step.state === "doing" ? Math.max(0, nowMs - before) : null;
}
