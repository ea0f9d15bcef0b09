import type { Schemas } from "../api/client";
import { rate } from "../format/numbers";

export interface Change {
  path: string;
  before: string;
  after: string;
}

const text = (value: unknown, path = ""): string => {
  if (value === undefined || value === null) return "none";
  if (typeof value === "string") return value;
  if (typeof value === "number" && path.endsWith("rate_limit")) return rate(value);
  if (Array.isArray(value)) return value.length ? value.map((one) => text(one)).join(", ") : "none";
  return JSON.stringify(value);
};

/** What differs between two documents, by path. */
export function differences(before: unknown, after: unknown, path = ""): Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isRow(before) && isRow(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => differences(before[name], after[name], path ? `${path}.${name}` : name));
  }
  return [{ path, before: text(before, path), after: text(after, path) }];
}

const isRow = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What a plan changes of a link; its revision counts changes and is none itself. */
export const linkChanges = (plan: Schemas["ChangeLinkPlan"]): Change[] =>
  differences(plan.before, plan.after).filter((change) => change.path !== "revision");
