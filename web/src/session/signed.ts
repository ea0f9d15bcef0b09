import { useSyncExternalStore } from "react";

/** Whether the service has said that this browser is signed out. */
let out = false;
const listeners = new Set<() => void>();

export function setSignedOut(value: boolean): void {
  if (out === value) return;
  out = value;
  for (const listener of listeners) listener();
}

export const useSignedOut = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => out,
  );
