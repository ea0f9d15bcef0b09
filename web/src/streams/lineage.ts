import type { components } from "../api/schema";

/** The lineage of a stream's version, as the service tells it. */
export type Lineage = components["schemas"]["StreamLineageAnswer"];

/** A column that makes another one, or decides on rows where the target has none. */
export type LineageEdge = Lineage["inserts"][number]["edges"][number];

export interface LineageTable {
  name: string;
  columns: readonly string[];
  isHidden: boolean;
  /** How far to the right it stands: behind all that it is made of. */
  layer: number;
}

/** What stands for the rows of a table, where a column decides which there are. */
export const ROWS = "rows";

/** Tables in layers, the sources first; a table that is made of itself stands where it stood. */
export function tablesOf(lineage: Lineage): LineageTable[] {
  const columns = new Map<string, Set<string>>();
  const made = new Map<string, Set<string>>();
  const add = (table: string, names: readonly string[]) => {
    const found = columns.get(table) ?? new Set();
    names.forEach((name) => found.add(name));
    columns.set(table, found);
  };
  for (const { target, columns: written, sources, edges } of lineage.inserts) {
    for (const [source, names] of Object.entries(sources)) add(source, names);
    add(target, written);
    if (edges.some((edge) => edge.target_column === null)) add(target, [ROWS]);
    made.set(target, new Set([...(made.get(target) ?? []), ...Object.keys(sources)]));
  }
  const layerOf = (table: string, seen: ReadonlySet<string>): number => {
    const sources = [...(made.get(table) ?? [])].filter((one) => !seen.has(one));
    return sources.length === 0 ? 0 : 1 + Math.max(...sources.map((one) => layerOf(one, new Set([...seen, one]))));
  };
  return [...columns.entries()]
    .map(([name, found]) => ({ name, columns: [...found], isHidden: lineage.hidden.includes(name), layer: layerOf(name, new Set([name])) }))
    .sort((a, b) => a.layer - b.layer || a.name.localeCompare(b.name));
}

export const edgesOf = (lineage: Lineage): LineageEdge[] => lineage.inserts.flatMap((one) => one.edges);

export const keyOf = (table: string, column: string): string => `${table}\u0000${column}`;

/** A column, all that it is made of, and all that is made of it. */
export function relatedTo(key: string, edges: readonly LineageEdge[]): ReadonlySet<string> {
  const walk = (from: (edge: LineageEdge) => string, to: (edge: LineageEdge) => string): Set<string> => {
    const found = new Set([key]);
    for (let size = 0; size !== found.size; ) {
      size = found.size;
      for (const edge of edges) if (found.has(from(edge))) found.add(to(edge));
    }
    return found;
  };
  return new Set([...walk(sourceKey, targetKey), ...walk(targetKey, sourceKey)]);
}

export const sourceKey = (edge: LineageEdge): string => keyOf(edge.source_table, edge.source_column);
export const targetKey = (edge: LineageEdge): string => keyOf(edge.target_table, edge.target_column ?? ROWS);

/** A table's name as it is read: Kafka's topics and tables of the script itself have a mark before it. */
export const shortOf = (table: string): string => table.replace(/^spark_catalog\./, "").replace(/^stream:\/\/[^/]*\//, "");
