import type { Schemas } from "../api/client";
import type { Tone } from "../parts/Badge";
import type { ShapeName } from "../parts/Shape";

export type SwitchSummary = Schemas["SwitchSummary"];

/** How a switch goes, in its order, and what happens then. */
export const STEPS = [
  ["preparing", "clients are asked to pause, and hand over how far they are"],
  ["draining", "what they wrote is being copied to the end"],
  ["moving", "their groups are moved to exactly the next record"],
  ["published", "the new table applies; from here it is not given up"],
  ["done", "every client was told to go on where it is led now"],
] as const;

/** Whether it has still to end. */
export const isOpen = ({ state }: SwitchSummary): boolean => state !== "done" && state !== "cancelled";

export const hasPublished = ({ state }: SwitchSummary): boolean => state === "published" || state === "done";

/** Its state in a word; one that was told to be given up may still have groups to take back. */
export function stateOf(one: SwitchSummary): { words: string; tone: Tone; shape: ShapeName } {
  if (one.state === "done") return { words: "done", tone: "ok", shape: "check" };
  if (one.state === "cancelled") return { words: "given up", tone: "bad", shape: "cross" };
  if (one.why !== "" && !hasPublished(one)) return { words: "is given up", tone: "warn", shape: "half" };
  return { words: one.state, tone: "busy", shape: "play" };
}

export const switchPath = (id: string): string => `/routes/switches/${id}`;
