import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const KEY = "anabranch.theme";
const listeners = new Set<() => void>();

const current = (): Theme => (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system";

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is left.
  }
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}

export const useTheme = (): Theme => useSyncExternalStore(listen, current);

export const useIsDark = (): boolean =>
  useSyncExternalStore(listen, () =>
    current() === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : current() === "dark",
  );
