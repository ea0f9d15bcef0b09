import { lazy, Suspense } from "react";

/** What tells words of SQL apart is asked for when there is SQL to be seen. */
const SqlLines = lazy(() => import("./SqlLines"));

/** SQL to read; plain until what colours it is there. */
export const SqlText = ({ text, label, line = null }: { text: string; label: string; line?: number | null }) => (
  <Suspense
    fallback={
      <pre className="sql" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    }
  >
    <SqlLines text={text} label={label} line={line} />
  </Suspense>
);
