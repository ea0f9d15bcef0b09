import { useSyncExternalStore } from "react";
import { nowMs } from "../format/clock";

/** One clock for all ages of a page, that ticks each second. */
let now = nowMs();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = nowMs();
    for (const one of listeners) one();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export const useNow = (): number => {
  if (timer === undefined) now = nowMs();
  return useSyncExternalStore(listen, () => now);
};
