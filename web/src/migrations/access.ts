import type { Schemas } from "../api/client";
import { counted } from "../format/numbers";

export interface CarriedOver {
  /** What was changed last, or that nothing was. */
  words: string;
  /** When all waves for which it did not fail had been carried over; null where none has been. */
  goodMs: number | null;
  /** When something was changed last; null where nothing has been. */
  changedMs: number | null;
  /** Why it failed for a wave, and when it did not last. */
  failures: readonly { wave: string; why: string; goodMs: number | null }[];
}

/** What the rounds of the service came to that carry access rules and quotas over; null where there are none. */
export function carriedOver(looks: Readonly<Record<string, Schemas["AccessLook"]>>): CarriedOver | null {
  const all = Object.entries(looks).sort(([one], [other]) => (one < other ? -1 : 1));
  if (all.length === 0) return null;
  const good = all.flatMap(([, look]) => (look.why || look.good_ms === null ? [] : [look.good_ms]));
  const changed = all
    .flatMap(([, look]) => (look.changed_ms === null ? [] : [{ ...look, changed_ms: look.changed_ms }]))
    .sort((one, other) => other.changed_ms - one.changed_ms)[0];
  return {
    words: changed
      ? `${counted(changed.created, "rule")} made, ${changed.deleted} deleted, ${counted(changed.quotas, "quota")} changed`
      : "nothing had to be changed",
    goodMs: good.length ? Math.min(...good) : null,
    changedMs: changed?.changed_ms ?? null,
    failures: all.flatMap(([wave, { why, good_ms: goodMs }]) => (why ? [{ wave, why, goodMs }] : [])),
  };
}
