import { useEffect, useSyncExternalStore } from "react";
import { totalsOf, type Stream } from "./stream";

/** What a stream's queries told together at a moment. */
export interface StreamPoint {
  at_ms: number;
  rate: number | null;
  lag: number | null;
  batchMs: number | null;
  state: number | null;
}

const MOST = 900;
const pasts = new Map<string, readonly StreamPoint[]>();
const listeners = new Set<() => void>();
const NOTHING: readonly StreamPoint[] = [];

/** Keep what a stream tells while this is mounted: the service itself keeps no past of streams. */
export function useStreamPast(stream: Stream | undefined): void {
  const told = stream?.queries.map((one) => one.told_at).sort().at(-1) ?? "";
  useEffect(() => {
    const at = Date.parse(told);
    if (stream === undefined || Number.isNaN(at)) return;
    const past = pasts.get(stream.name) ?? NOTHING;
    if (at <= (past.at(-1)?.at_ms ?? 0)) return;
    const { rate, lag, batchMs, state } = totalsOf(stream.queries);
    pasts.set(stream.name, [...past.slice(1 - MOST), { at_ms: at, rate, lag, batchMs, state }]);
    for (const one of listeners) one();
  }, [stream, told]);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const usePastOf = (name: string): readonly StreamPoint[] => useSyncExternalStore(listen, () => pasts.get(name) ?? NOTHING);
