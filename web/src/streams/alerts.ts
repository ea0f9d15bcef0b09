import type { Schemas } from "../api/client";

export type StreamAlerts = Schemas["StreamAlertsAnswer"];
export type AlertRule = Schemas["AlertRuleLine"];
type Alert = Schemas["StreamAlertAnswer"];
type AlertKind = Schemas["AlertKind"];

/** What a rule looks at, and what its limit counts; null where it has none. */
export const KINDS: Readonly<Record<AlertKind, { what: string; limit: string | null }>> = {
  alive: { what: "It is to run and does not", limit: null },
  lag: { what: "It is behind in Kafka by more than so many records", limit: "records" },
  restarts: { what: "More than so many runs failed within an hour", limit: "runs" },
  slow: { what: "A micro-batch takes more than so many times the trigger", limit: "times" },
};

const ORDER: readonly Schemas["AlertState"][] = ["firing", "waiting", "over"];

/** Those that fire first, then the newest. */
export const inOrder = (alerts: readonly Alert[]): Alert[] =>
  [...alerts].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || other.since_ms - one.since_ms);

/** A rule as somebody writes it: numbers are texts. */
export interface WrittenRule {
  limit: string;
  seconds: string;
  on: boolean;
}

export const written = (rule: AlertRule): WrittenRule => ({ limit: String(rule.limit), seconds: String(rule.for_s), on: rule.is_on });

/** The settings that make rules of what was written, as `stream alerts --set` takes them; none where nothing is new. */
export function settingsOf(rules: readonly AlertRule[], wanted: Readonly<Record<string, WrittenRule>>): string[] {
  return rules.flatMap((rule) => {
    const now = wanted[rule.kind];
    if (now === undefined) return [];
    const settings: string[] = [];
    const { limit, seconds, on } = written(rule);
    if (now.limit.trim() !== limit) settings.push(`${rule.kind}=${now.limit.trim()}`);
    if (now.seconds.trim() !== seconds) settings.push(`${rule.kind}.for=${now.seconds.trim()}`);
    // A limit turns its rule on: what is to be off is said behind it.
    if (now.on !== on || (!now.on && now.limit.trim() !== limit)) settings.push(`${rule.kind}=${now.on ? "on" : "off"}`);
    return settings;
  });
}

/** A rule in words. */
export function ruleWords({ kind, limit, for_s: seconds, is_on: isOn }: AlertRule): string {
  if (!isOn) return "off";
  const { limit: unit } = KINDS[kind];
  const above = unit === null ? "not running" : `above ${limit.toLocaleString("en")} ${unit}`;
  return seconds === 0 ? above : `${above}, for ${seconds.toLocaleString("en")} s`;
}
