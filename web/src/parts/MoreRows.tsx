import { useState, type ReactNode } from "react";
import { whole } from "../format/numbers";
import { Button } from "./Button";

const FIRST = 100;

interface Props<T> {
  rows: readonly T[];
  /** What the rows are, for the button that shows more of them. */
  what: string;
  children: (rows: readonly T[]) => ReactNode;
}

/** The first rows of many, and a button for more: a page that draws thousands at once is slow. */
export function MoreRows<T>({ rows, what, children }: Props<T>) {
  const [shown, setShown] = useState(FIRST);
  const left = rows.length - shown;
  return (
    <>
      {children(rows.slice(0, shown))}
      {left > 0 ? (
        <p className="row">
          <Button act={() => setShown(shown + 10 * FIRST)}>Show more {what}</Button>
          <span className="dim">
            {whole(shown)} of {whole(rows.length)}
          </span>
        </p>
      ) : null}
    </>
  );
}
