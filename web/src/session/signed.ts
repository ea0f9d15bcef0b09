import { useSyncExternalStore } from "react";

/** Why this browser is signed out, as the service has said; empty where somebody signed out here, null where it is not. */
let out: string | null = null;
const listeners = new Set<() => void>();

export function setSignedOut(value: string | null): void {
  // Why it was is told, and not why a token that somebody tries then is none.
  if (out === value || (out !== null && value !== null)) return;
  out = value;
  for (const listener of listeners) listener();
}

export const useSignedOut = (): string | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => out,
  );
