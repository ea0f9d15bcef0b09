import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { Schemas } from "../../api/client";
import { routesQuery } from "../../api/queries";
import { yamlText } from "../../format/yaml/write";
import { Fetched } from "../../parts/Fetched";
import { Waiting } from "../../parts/Waiting";

/** It reads YAML, which no other page does. */
const Editor = lazy(() => import("./Editor"));

const FIRST = `version: 1
codes:
  orders:
    cluster: CONTEXT
    description: what it is for, and whom to ask
rules: []
`;

/** Another table in place of the one that applies, as the text of a routes file. */
export function Change() {
  const query = useQuery(routesQuery);
  return (
    <Fetched query={query} what="the route table">
      {(newest) => (
        <Suspense fallback={<Waiting what="the editor" />}>
          <Editor newest={newest} text={textOf(newest)} />
        </Suspense>
      )}
    </Fetched>
  );
}

const textOf = (newest: Schemas["VersionAnswer"] | null): string => (newest === null ? FIRST : yamlText(newest.table));
