import { lazy, Suspense } from "react";
import type { TextKind } from "./language";

/** What tells words apart is asked for when there is a script to be seen. */
const SqlLines = lazy(() => import("./SqlLines"));

interface Props {
  text: string;
  label: string;
  line?: number | null;
  kind?: TextKind;
}

/** SQL, or Python, to read; plain until what colours it is there. */
export const SqlText = ({ text, label, line = null, kind = "sql" }: Props) => (
  <Suspense
    fallback={
      <pre className="sql" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    }
  >
    <SqlLines text={text} label={label} line={line} kind={kind} />
  </Suspense>
);
