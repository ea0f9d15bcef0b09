import { rate } from "../format/numbers";

/** What a person allows, and what the last look of the service found, as it tells both of a migration. */
interface Told {
  wish: { rate?: number | null; is_paused?: boolean } | null;
  seen: { at_ms: number; rates: Readonly<Record<string, number | null>>; is_paused: boolean; reasons: readonly string[]; failures: readonly string[] } | null;
}

export interface Copying {
  words: string;
  /** What holds its links back, one reason a line. */
  reasons: readonly string[];
  /** What could not be asked, or done: it is tried again in the next look. */
  failures: readonly string[];
  /** When it was looked at; null where it never was. */
  seenMs: number | null;
}

/** How fast a migration's links may copy, and what slows them down. */
export function copyingOf(throttle: Readonly<Record<string, unknown>>): Copying {
  const { seen, wish } = toldOf(throttle);
  if (seen === null) {
    const reasons = wishWords(wish);
    return { words: reasons.length ? "slowed down by a person" : "nothing slows it down", reasons, failures: [], seenMs: null };
  }
  const { reasons, failures, at_ms: seenMs } = seen;
  const rates = Object.entries(seen.rates)
    .filter(([, limit]) => limit !== null)
    .map(([link, limit]) => `${link} at most ${rate(limit)}`);
  const state = seen.is_paused ? "it stands still" : reasons.length ? "slowed down" : "nothing slows it down";
  return { words: rates.length && !seen.is_paused ? `${state}; ${rates.join(", ")}` : state, reasons, failures, seenMs };
}

/** Whether a person slows it down or has it stand still, until it is resumed. */
export function isHeldBack(throttle: Readonly<Record<string, unknown>>): boolean {
  return wishWords(toldOf(throttle).wish).length > 0;
}

const toldOf = (throttle: Readonly<Record<string, unknown>>): Told => ({
  wish: (throttle["operator"] ?? null) as Told["wish"],
  seen: (throttle["seen"] ?? null) as Told["seen"],
});

function wishWords(wish: Told["wish"]): string[] {
  if (wish?.is_paused) return ["a person wants that nothing is copied"];
  return wish?.rate == null ? [] : [`a person allows ${rate(wish.rate)}`];
}
