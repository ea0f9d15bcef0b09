import type { Option } from "../../format/command";
import { partitionOf } from "../../format/partitions";

type Body = Record<string, unknown>;
type Part = Readonly<{ topics: readonly string[]; name?: string }>;
type Cluster = Readonly<{ id: string; bootstrap: string }>;

/** What a line says, or null where it is unclear. */
type Read<T> = (line: string) => readonly [name: string, value: T] | null;

const commas = (text: string): string[] => text.split(",").map((one) => one.trim());
const once = (names: readonly string[]): boolean => names.every(Boolean) && new Set(names).size === names.length;

const renamed: Read<string> = (line) => {
  const [old = "", name = "", more] = line.split("=");
  return old === "" || name === "" || more !== undefined ? null : [old, name];
};

const moved: Read<Cluster> = (line) => {
  const [, old = "", id = "", bootstrap = ""] = /^([^=]+)=([^@]+)@(.+)$/.exec(line) ?? [];
  return old === "" ? null : [old, { id, bootstrap }];
};

const split: Read<readonly Part[]> = (line) => {
  const [, source = "", rest = ""] = /^([^=]+)=(.+)$/.exec(line) ?? [];
  const parts = rest.split("|").map((text): Part => {
    const at = text.lastIndexOf(":");
    return at < 0 ? { topics: commas(text) } : { topics: commas(text.slice(at + 1)), name: text.slice(0, at).trim() };
  });
  const names = parts.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (source === "" || parts.length < 2 || !once(parts.flatMap(({ topics }) => topics))) return null;
  return names.length === 0 || (names.length === parts.length && once(names)) ? [source, parts] : null;
};

/** What is an object in a request, and how a line of it is written. */
const LINES: readonly (readonly [name: string, read: Read<unknown>, form: string])[] = [
  ["rename", renamed, "OLD=NEW, each topic once"],
  ["dynamic", moved, "OLD=NEW@HOST:PORT, each cluster once"],
  ["split", split, "ID=T1,T2|T3 or ID=NAME:T1|NAME:T2, each source once"],
];

/** Has what was filled in as the service takes it; says which line is unclear, null where none is. */
export function spelledOut(body: Body): string | null {
  return offsetsOf(body) ?? linesOf(body) ?? mergedOf(body);
}

function offsetsOf(body: Body): string | null {
  const found: Record<string, Record<string, number>> = {};
  for (const line of (body["offsets"] ?? []) as string[]) {
    const [, where = "", offset = ""] = /^(.*):(\d+)$/.exec(line) ?? [];
    const at = partitionOf(where);
    if (at === null || !Number.isSafeInteger(Number(offset))) return `${line}: not TOPIC-PARTITION:OFFSET, such as orders-3:120`;
    const partitions = (found[at.topic] ??= {});
    if (at.partition in partitions) return `${line}: ${where} is given twice`;
    partitions[at.partition] = Number(offset);
  }
  if (body["offsets"] !== undefined) body["offsets"] = found;
  return null;
}

function linesOf(body: Body): string | null {
  for (const [name, read, form] of LINES) {
    if (body[name] === undefined) continue;
    const found: Record<string, unknown> = {};
    for (const line of body[name] as string[]) {
      const said = read(line);
      if (said === null || said[0] in found) return `${line}: not ${form}`;
      found[said[0]] = said[1];
    }
    body[name] = found;
  }
  return null;
}

function mergedOf(body: Body): string | null {
  if (body["merge"] === undefined) return null;
  const lines = body["merge"] as string[];
  const unclear = lines.find((line) => commas(line).length < 2 || !once(commas(line)));
  if (unclear !== undefined) return `${unclear}: not ID,ID, each source once`;
  body["merge"] = lines.map(commas);
  return null;
}

/** Words that mean what is usual anyway. */
export function withoutUsual(body: Body): Body {
  for (const name of ["uncommitted", "transactions", "stop_savepoint"]) {
    if (body[name] === "refuse") delete body[name];
  }
  return body;
}

const OFFSETS = "offsets.json";
const entries = <T>(body: Body, name: string): [string, T][] => Object.entries((body[name] ?? {}) as Record<string, T>);
const texts = (body: Body, name: string) => body[name] as string[] | undefined;
const text = (body: Body, name: string) => body[name] as string | undefined;

/** Where positions lead, as options of a command. */
export const leadingOptions = (body: Body): Option[] => [
  ["--link", texts(body, "links")],
  ["--maps", text(body, "maps")],
  ["--offsets", body["offsets"] === undefined ? undefined : OFFSETS],
  ["--start", text(body, "start")],
  ["--target", text(body, "target")],
  ["--rename", entries<string>(body, "rename").map(([old, name]) => `${old}=${name}`)],
  ["--stay", texts(body, "stay")],
  ["--source", texts(body, "sources")],
  ["--dynamic-cluster", entries<Cluster>(body, "dynamic").map(([old, { id, bootstrap }]) => `${old}=${id}@${bootstrap}`)],
];

const partText = ({ topics, name }: Part): string => (name === undefined ? "" : `${name}:`) + topics.join(",");

/** All that a rewrite asks for but where it is written. */
export const rewriteOptions = (body: Body): Option[] => [
  ...leadingOptions(body),
  ["--split", entries<readonly Part[]>(body, "split").map(([source, parts]) => `${source}=${parts.map(partText).join("|")}`)],
  ["--merge", ((body["merge"] ?? []) as string[][]).map((one) => one.join(","))],
  ["--drop-source", texts(body, "drop")],
  ["--uncommitted", text(body, "uncommitted")],
  ["--transactions", text(body, "transactions")],
  ["--stop-savepoint", text(body, "stop_savepoint")],
];

/** The file that such a command reads: given offsets. */
export const offsetFiles = ({ offsets, target }: Body): Readonly<Record<string, string>> =>
  offsets === undefined ? {} : { [OFFSETS]: `${JSON.stringify({ version: 1, cluster: target, offsets }, null, 2)}\n` };
