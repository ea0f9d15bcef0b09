import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { routesQuery } from "../../api/queries";
import { yamlText } from "../../format/yaml/write";
import { Fetched } from "../../parts/Fetched";
import { Editor } from "./Editor";

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
      {(newest) => <Editor newest={newest} text={textOf(newest)} />}
    </Fetched>
  );
}

const textOf = (newest: Schemas["VersionAnswer"] | null): string => (newest === null ? FIRST : yamlText(newest.table));
