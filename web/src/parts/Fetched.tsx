import type { ReactNode } from "react";
import { ProblemNotice } from "./ProblemNotice";
import { Waiting } from "./Waiting";

interface Props<T> {
  query: { data: T | undefined; isError: boolean; error: Error | null; refetch: () => unknown };
  what: string;
  children: (data: T) => ReactNode;
}

/** An answer's three states.  One that is old stays, under the reason why nothing newer is known. */
export function Fetched<T>({ query, what, children }: Props<T>) {
  const again = () => void query.refetch();
  if (query.data === undefined) {
    return query.isError ? <ProblemNotice error={query.error} again={again} /> : <Waiting what={what} />;
  }
  return (
    <>
      {query.isError ? (
        <ProblemNotice error={query.error} title={`What is shown of ${what} is old`} again={again} />
      ) : null}
      {children(query.data)}
    </>
  );
}
