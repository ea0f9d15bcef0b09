import { whole } from "../format/numbers";
import { SAME_NAMES, type Destination, type Rule, type RouteTable } from "./table";

/** Which clients a rule is for. */
export function matchWords({ role, patterns }: Rule): string {
  if (patterns.length === 0) return `every ${role || "client"}`;
  return `${role || "client"}s with ${patterns.map(([field, pattern]) => `${field} ${pattern}`).join(", ")}`;
}

/** Where a code or a rule leads. */
export function leadsTo({ cluster, code, topics, read, write }: Destination): string {
  const parts = [cluster ? `cluster ${cluster}` : code ? `code ${code}` : "nothing"];
  if (topics !== SAME_NAMES) parts.push(`topics are called ${topics} there`);
  if (!read || !write) parts.push(mayWords(read, write));
  return parts.join("; ");
}

export const mayWords = (read: boolean, write: boolean): string =>
  read && write ? "may read and write" : read ? "may only read" : write ? "may only write" : "may neither read nor write";

/** The cluster at the end of a code's way where no rule matches; empty where there is none. */
export function endOf(table: RouteTable, code: string): string {
  const destinations = new Map(table.codes.map((one) => [one.name, one.to]));
  const passed = new Set<string>();
  let name = code;
  while (!passed.has(name)) {
    passed.add(name);
    const to = destinations.get(name);
    if (to === undefined) return "";
    if (to.cluster) return to.cluster;
    name = to.code;
  }
  return "";
}

export interface Difference {
  change: "new" | "gone" | "changed";
  what: string;
  /** Which part of it is other; empty where all of it came or went. */
  part: string;
  before: string;
  after: string;
}

type Parts = readonly (readonly [string, string])[];

/** What one table has otherwise than another, in words. */
export const tableDifferences = (before: RouteTable, after: RouteTable): Difference[] => [
  ...between("code", before.codes, after.codes, ({ to, description }) => [
    ["leads to", leadsTo(to)],
    ["description", description],
  ]),
  ...between("rule", before.rules, after.rules, (rule) => [
    ["matches", matchWords(rule)],
    ["leads to", leadsTo(rule.to)],
    ["priority", whole(rule.priority)],
  ]),
  ...between("cluster", before.clusters, after.clusters, ({ bootstrap, security }) => [
    ["is reached at", bootstrap.join(", ")],
    ["security", security.join(", ")],
  ]),
];

function between<T extends { name: string }>(noun: string, before: readonly T[], after: readonly T[], parts: (one: T) => Parts): Difference[] {
  const former = new Map(before.map((one) => [one.name, one]));
  const later = new Map(after.map((one) => [one.name, one]));
  return [...new Set([...former.keys(), ...later.keys()])].sort().flatMap((name): Difference[] => {
    const [one, other] = [former.get(name), later.get(name)];
    const what = `${noun} ${name}`;
    if (one === undefined) return other === undefined ? [] : [{ change: "new", what, part: "", before: "", after: sentence(parts(other)) }];
    if (other === undefined) return [{ change: "gone", what, part: "", before: sentence(parts(one)), after: "" }];
    const then = new Map(parts(other));
    return parts(one)
      .filter(([part, words]) => then.get(part) !== words)
      .map(([part, words]) => ({ change: "changed", what, part, before: words, after: then.get(part) ?? "" }));
  });
}

const sentence = (parts: Parts): string =>
  parts
    .filter(([, words]) => words !== "")
    .map(([part, words]) => `${part} ${words}`)
    .join("; ");

/** How many of each there are, as in "1 code is new, 2 rules changed"; empty where nothing is other. */
export function differencesWords(differences: readonly Difference[]): string {
  const counts = new Map<string, Set<string>>();
  for (const { change, what } of differences) {
    const key = `${what.slice(0, what.indexOf(" "))} ${change}`;
    counts.set(key, (counts.get(key) ?? new Set()).add(what));
  }
  return [...counts].map(([key, names]) => counted(key, names.size)).join(", ");
}

function counted(key: string, count: number): string {
  const [noun = "", change = ""] = key.split(" ");
  const verb = change === "changed" ? "changed" : `${count === 1 ? "is" : "are"} ${change}`;
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"} ${verb}`;
}
