import type { QueryClient } from "@tanstack/react-query";
import { catalogEntryQuery, catalogQuery } from "../api/queries";
import type { CatalogNames } from "../editor/completing";

/** What the catalog tells whoever writes SQL, asked for once a minute at most. */
export const catalogNames = (queries: QueryClient): CatalogNames => ({
  entries: async () => {
    const found = await queries.fetchQuery({ ...catalogQuery(""), staleTime: 60_000 });
    return found.map((one) => ({ name: one.short.replace(/^default\./, ""), kind: one.kind, description: one.description }));
  },
  columns: async (name) => {
    const found = await queries.fetchQuery({ ...catalogEntryQuery(name.includes(".") ? name : `default.${name}`), staleTime: 60_000 });
    return (found.document["columns"] ?? []) as { name: string; type: string }[];
  },
});
