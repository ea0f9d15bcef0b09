import type { Schemas } from "../api/client";
import { counted, whole } from "../format/numbers";
import type { Tone } from "../parts/Badge";
import type { ShapeName } from "../parts/Shape";

export type MigrationSummary = Schemas["MigrationSummary"];
export type Wave = Schemas["WaveAnswer"];
export type WaveRun = Schemas["WaveRunSummary"];
type Verb = Schemas["WaveVerb"];

export const migrationPath = (name: string): string => `/migrations/${encodeURIComponent(name)}`;
export const waveAnchor = (wave: string): string => `wave-${wave}`;

/** What is under way for a wave, in words. */
const UNDER_WAY: Record<Verb, string> = {
  start: "being started",
  verify: "being compared",
  switch: "being switched",
  reverse: "going back",
  reconcile: "being reconciled",
  complete: "being completed",
  cancel: "being cancelled",
};

const STANDS: Record<string, readonly [Tone, ShapeName]> = {
  planned: ["idle", "ring"],
  copying: ["busy", "play"],
  "partly switched": ["warn", "half"],
  switched: ["ok", "dot"],
  completed: ["ok", "check"],
};

interface Look {
  words: string;
  tone: Tone;
  shape: ShapeName;
}

/** The run that has still to end, if there is one. */
export const openRun = ({ run }: Wave): WaveRun | null => (run !== null && run.is_open ? run : null);

/** Where a wave stands, in a word or two; what is under way for it comes first. */
export function waveState(wave: Wave): Look {
  const run = openRun(wave);
  if (run === null) {
    const [tone, shape] = STANDS[wave.state] ?? (["idle", "ring"] as const);
    return { words: wave.state, tone, shape };
  }
  if (isTaken(run)) return { words: "being taken back", tone: "warn", shape: "half" };
  return { words: UNDER_WAY[run.what], tone: "busy", shape: "play" };
}

const isTaken = (run: WaveRun): boolean => run.state === "being taken back" || (run.cancelled !== "" && !run.has_passed);

/** How a run goes, or how it ended. */
export function runState(run: WaveRun): Look {
  if (run.is_open) return isTaken(run) ? { words: "being taken back", tone: "warn", shape: "half" } : { words: "going on", tone: "busy", shape: "play" };
  return run.state === "done" ? { words: "done", tone: "ok", shape: "check" } : { words: run.state, tone: "bad", shape: "cross" };
}

/** What a run is, as in "switch of its consumers". */
export const runWords = ({ what, part }: WaveRun): string => (part === "all" ? what : `${what} of its ${part}`);

/** Whether a leg leads from the target back to the source. */
export const leadsBack = ({ leg }: Wave): boolean => leg % 2 === 1;

/** Where a wave's next leg leads to, which is where its link is kept. */
export const thereOf = (wave: Wave, { source, target }: MigrationSummary): string => (leadsBack(wave) ? source : target);

/** Where its applications are, and what that means, in a sentence. */
export function standsWords(wave: Wave, migration: MigrationSummary): string {
  const there = thereOf(wave, migration);
  const on = `Its applications are on ${wave.at}`;
  switch (wave.state) {
    case "planned":
      return `${on}, and nothing of it is copied yet.`;
    case "copying":
      if (wave.lost) return `${on}, and there is no way to ${there}: ${wave.lost}.`;
      if (wave.gone === there) return `${on}; ${there} did not answer, and ${wave.link} copies on once it is reconciled.`;
      return `${on}; ${wave.link} copies to ${there}.`;
    case "partly switched":
      return `Its ${wave.switched.join(" and ")} are on ${there}; its ${wave.part} are still on ${wave.at}.`;
    case "switched":
      if (wave.lost) return `${on}, and there is no way back to ${there}: ${wave.lost}.`;
      if (wave.gone === there) return `${on}; ${there} did not answer, and ${wave.link} copies on once it is reconciled.`;
      return `${on}; ${wave.link} keeps ${there} up to date, so that going back is exact.`;
    case "completed":
      return `${on}, and stay there; its links are gone.`;
    default:
      return `${on}.`;
  }
}

/** Whether its link is there to be looked at: not before it was made, nor once it is deleted. */
export const hasLink = (wave: Wave): boolean => wave.lost === "" && wave.state !== "completed" && (wave.state !== "planned" || openRun(wave) !== null);

export interface WaveAction {
  verb: "start" | "verify" | "switch" | "reverse" | "reconcile" | "complete" | "cancel";
  words: string;
  isMain: boolean;
}

const action = (verb: WaveAction["verb"], words: string, isMain = false): WaveAction => ({ verb, words, isMain });

/** What can be asked for where a wave rests; the service has the last word. */
export function actionsOf(wave: Wave): readonly WaveAction[] {
  const part = wave.part === "all" ? "" : ` ${wave.part}`;
  switch (wave.state) {
    case "planned":
      return [action("start", "Start", true)];
    case "copying":
      if (wave.lost) return [action("reconcile", "Reconcile", true), action("cancel", "Cancel it")];
      if (wave.is_gone) return [action("reconcile", "Reconcile", true), action("switch", `Switch${part}`), action("cancel", "Cancel it")];
      return [action("switch", `Switch${part}`, true), action("verify", "Compare"), action("cancel", "Cancel it")];
    case "partly switched":
      if (leadsBack(wave)) return [action("reverse", `Go back:${part}`, true), action("switch", "Leave the source"), action("verify", "Compare")];
      return [action("switch", `Switch${part}`, true), action("reverse", "Leave the target"), action("verify", "Compare")];
    case "switched":
      if (wave.lost) return [action("reconcile", "Reconcile", true), action("complete", "Complete")];
      if (wave.is_gone) return [action("reconcile", "Reconcile", true), action("complete", "Complete"), action("reverse", `Go back${part ? `:${part}` : ""}`)];
      return [action("complete", "Complete", true), action("verify", "Compare"), action("reverse", `Go back${part ? `:${part}` : ""}`)];
    default:
      return [];
  }
}

/** Why what is under way for a wave cannot be given up; null where it can, as always where a cluster is away. */
export function whyNotGivenUp(run: WaveRun, isOneAway: boolean): string | null {
  if (isOneAway) return null;
  if (run.has_passed) return "it has passed the point of no return: it can only go on";
  if (isTaken(run)) return "it is being taken back already";
  return null;
}

/** How many waves stand where, as in "2 copying, 1 switched", in the order of their lives. */
export function wavesWords(waves: readonly Wave[]): string {
  if (waves.length === 0) return "none";
  const counts = new Map<string, number>();
  for (const { state } of waves) counts.set(state, (counts.get(state) ?? 0) + 1);
  return Object.keys(STANDS)
    .filter((state) => counts.has(state))
    .map((state) => `${whole(counts.get(state))} ${state}`)
    .join(", ");
}

/** What is under way for a wave, as in "switch of wave orders: step 3 of 15". */
export function underWayWords(run: WaveRun): string {
  const step = run.state === "being taken back" ? "is being taken back" : `step ${whole(Math.min(run.at + 1, run.steps))} of ${whole(run.steps)}`;
  return `${runWords(run)} of wave ${run.wave}: ${step}`;
}

/** Names in a sentence: the first few, and how many more there are. */
export function few(names: readonly string[], noun: string, most = 12): string {
  if (names.length === 0) return "none";
  if (names.length <= most) return names.join(", ");
  return `${counted(names.length, noun)}: ${names.slice(0, most - 2).join(", ")} and ${whole(names.length - most + 2)} more`;
}
