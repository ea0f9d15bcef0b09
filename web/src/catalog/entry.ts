import type { Schemas } from "../api/client";

export type Entry = Schemas["EntrySummary"];
export type EntryFound = Schemas["EntryAnswer"];

export const entryPath = (name: string, tab = ""): string => `/catalog/entries/${encodeURIComponent(name)}${tab ? `/${tab}` : ""}`;

/** The database that an entry is in, or is. */
export const databaseOf = ({ name, kind }: Entry): string => (kind === "database" ? name : name.split(".").slice(0, 2).join("."));

/** Its own part of its name. */
export const lastOf = (name: string): string => name.split(".").at(-1) ?? name;

export const KINDS = ["table", "view", "function"] as const;

export interface Database {
  name: string;
  /** Null where the entry itself may not be seen, and something in it may. */
  entry: Entry | null;
  objects: readonly Entry[];
}

/** Entries below their databases, both by name; tables come before views and functions. */
export function databasesOf(entries: readonly Entry[]): Database[] {
  const names = [...new Set(entries.map(databaseOf))].sort();
  return names.map((name) => ({
    name,
    entry: entries.find((one) => one.kind === "database" && one.name === name) ?? null,
    objects: entries
      .filter((one) => one.kind !== "database" && databaseOf(one) === name)
      .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)),
  }));
}

const rank = ({ kind }: Entry): number => KINDS.indexOf(kind as (typeof KINDS)[number]);

/** The names that grants on an entry, or above it, have. */
export function above(name: string): string[] {
  const parts = name.split(".");
  return parts.map((_, at) => parts.slice(0, at + 1).join("."));
}

/** What a grant is on, as the verbs have it. */
export const levelOf = (securable: string): "catalog" | "database" | "object" =>
  (["catalog", "database", "object"] as const)[Math.min(securable.split(".").length, 3) - 1] ?? "object";

type Columns = readonly Readonly<Record<string, string>>[];

/** What a schema version has otherwise than the one before it, in words. */
export function schemaChanges(before: Columns, after: Columns): string[] {
  const was = new Map(before.map((one) => [one["name"], one["type"]]));
  const is = new Map(after.map((one) => [one["name"], one["type"]]));
  return [
    ...after.filter((one) => !was.has(one["name"])).map((one) => `${one["name"]} ${one["type"]} came`),
    ...before.filter((one) => !is.has(one["name"])).map((one) => `${one["name"]} went`),
    ...after
      .filter((one) => was.has(one["name"]) && was.get(one["name"]) !== one["type"])
      .map((one) => `${one["name"]}: ${was.get(one["name"])} became ${one["type"]}`),
  ];
}
