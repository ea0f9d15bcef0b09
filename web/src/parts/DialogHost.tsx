import { createContext, useContext, useState, type ReactNode } from "react";
import { useLocation } from "wouter";

type Show = (dialog: ReactNode) => void;

const Shown = createContext<Show>(() => undefined);

/** Shows a dialog until something else, or null, is shown in its place. */
export const useShowDialog = (): Show => useContext(Shown);

/** Where dialogs are: what was done is told also where it has taken the button away; another page has none. */
export function DialogHost({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const [shown, setShown] = useState<{ at: string; dialog: ReactNode }>({ at: path, dialog: null });
  return (
    <Shown value={(dialog) => setShown({ at: path, dialog })}>
      {children}
      {shown.at === path ? shown.dialog : null}
    </Shown>
  );
}
