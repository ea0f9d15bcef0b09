import type { Schemas } from "../api/client";

export type Stream = Schemas["StreamSummary"];
export type StreamQuery = Schemas["StreamQueryAnswer"];
export type StreamState = Schemas["StreamState"];

/** States in the order in which somebody has to look at them. */
export const STATES: readonly StreamState[] = ["failed", "lost", "degraded", "starting", "stopping", "running", "stopped", "draft"];

/** Whether a stream may be called so. */
export const isStreamName = (name: string): boolean => /^[a-z0-9][a-z0-9._-]{0,59}$/.test(name);

export const streamPath = (name: string, tab = ""): string => `/streams/${encodeURIComponent(name)}${tab ? `/${tab}` : ""}`;

export interface StreamTotals {
  /** None is null where nothing was told, or where it is not known of a connector. */
  rate: number | null;
  lag: number | null;
  batchMs: number | null;
  watermark: string | null;
  state: number | null;
}

const known = <T>(values: readonly (T | null)[]): T[] => values.filter((one): one is T => one !== null);
const sum = (values: readonly number[]): number | null => (values.length ? values.reduce((all, one) => all + one, 0) : null);
const most = (values: readonly number[]): number | null => (values.length ? Math.max(...values) : null);

/** Of all queries of a stream: rows, lag and state together, the longest batch, the earliest watermark. */
export function totalsOf(queries: readonly StreamQuery[]): StreamTotals {
  const marks = known(queries.map((one) => one.watermark)).sort();
  return {
    rate: sum(known(queries.map((one) => one.rows_per_second))),
    lag: sum(known(queries.map((one) => one.lag))),
    batchMs: most(known(queries.map((one) => one.batch_ms))),
    watermark: marks[0] ?? null,
    state: sum(known(queries.map((one) => one.state_rows))),
  };
}

const ACTIVE: readonly StreamState[] = ["starting", "running", "degraded", "stopping", "lost"];

export const isActive = ({ state }: Stream): boolean => ACTIVE.includes(state);

/** Whether what runs has to end before it can be started. */
export const isToRestart = ({ state, wanted }: Stream): boolean => wanted === "running" && state !== "failed";

/** Why a start makes no sense now; null where it does. */
export const whyNotStart = (stream: Stream): string | null => (isToRestart(stream) ? `it is ${stream.state} already: restart it` : null);

export const whyNotStop = (stream: Stream): string | null =>
  stream.wanted === "stopped" && !isActive(stream) ? "it does not run" : stream.wanted === "stopped" ? "it was asked to end" : null;

/** Why its run cannot be given up; null where its machine is not heard of. */
export const whyNotAbandon = ({ state }: Stream): string | null => (state === "lost" ? null : "its machine is heard of: stop it");

export const whyNotRestart = (stream: Stream): string | null =>
  stream.wanted === "stopped" ? "it is not wanted to run: start it" : null;

export const whyNotDelete = (stream: Stream): string | null =>
  stream.wanted === "running" || isActive(stream) ? "stop it first" : null;
