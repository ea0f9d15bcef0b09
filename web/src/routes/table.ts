/** A route table as the service answers it, or as somebody writes it: what is as by default may be left out. */
export interface RouteTable {
  codes: readonly Code[];
  /** In the order in which they decide. */
  rules: readonly Rule[];
  clusters: readonly Reached[];
}

export interface Destination {
  cluster: string;
  code: string;
  topics: string;
  read: boolean;
  write: boolean;
}

export interface Code {
  name: string;
  to: Destination;
  description: string;
}

export interface Rule {
  name: string;
  priority: number;
  role: string;
  /** What must match beside the role: a field and its pattern. */
  patterns: readonly (readonly [string, string])[];
  to: Destination;
}

/** How applications reach a cluster, where that is not as the service does. */
export interface Reached {
  name: string;
  bootstrap: readonly string[];
  /** Protocol, mechanism, and where secrets and certificates are found: never a secret itself. */
  security: readonly string[];
}

export const SAME_NAMES = "{topic}";

type Row = Readonly<Record<string, unknown>>;

const row = (value: unknown): Row => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Row) : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));

export function tableOf(fields: unknown): RouteTable {
  const table = row(fields);
  return {
    codes: sorted(table["codes"]).map(([name, one]) => ({ name, to: destinationOf(one), description: text(row(one)["description"]) })),
    rules: list(table["rules"])
      .map(ruleOf)
      .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1)),
    clusters: sorted(table["clusters"]).map(([name, one]) => ({
      name,
      bootstrap: list(row(one)["bootstrap"]).map(text),
      security: securityOf(row(row(one)["security"])),
    })),
  };
}

const sorted = (value: unknown): [string, unknown][] => Object.entries(row(value)).sort(([a], [b]) => (a < b ? -1 : 1));

function destinationOf(value: unknown): Destination {
  const { cluster, code, topics, read, write } = row(value);
  return { cluster: text(cluster), code: text(code), topics: text(topics) || SAME_NAMES, read: read !== false, write: write !== false };
}

function ruleOf(value: unknown): Rule {
  const { name, priority, match, to } = row(value);
  const { role, parameters, ...named } = row(match);
  const fields = ["code", "topic", "group", "client_id"].map((field) => [field === "client_id" ? "client id" : field, named[field]] as const);
  const own = sorted(parameters).map(([field, pattern]) => [`parameter ${field}`, pattern] as const);
  return {
    name: text(name),
    priority: Number(priority ?? 0),
    role: text(role),
    patterns: [...fields, ...own].filter(([, pattern]) => pattern != null).map(([field, pattern]) => [field, text(pattern)] as const),
    to: destinationOf(to),
  };
}

function securityOf(security: Row): string[] {
  const { protocol, tls, sasl } = security;
  const { mechanism, ...login } = row(sasl);
  const given = [...Object.entries(row(tls)), ...Object.entries(login)].filter(([, value]) => value != null);
  const told = given.map(([name, value]) => `${name} ${text(value)}`).sort();
  return [text(protocol) || "PLAINTEXT", ...(mechanism == null ? [] : [text(mechanism)]), ...told];
}

/** Whether two tables lead every client alike. */
export const isSameTable = (one: RouteTable, other: RouteTable): boolean => JSON.stringify(one) === JSON.stringify(other);
