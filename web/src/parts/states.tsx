import type { Schemas } from "../api/client";
import { whole } from "../format/numbers";
import { Badge, type Tone } from "./Badge";
import type { ShapeName } from "./Shape";

type Look = readonly [Tone, ShapeName];

const LANE: Record<Schemas["LaneState"], Look> = {
  following: ["ok", "dot"],
  copying: ["busy", "play"],
  waiting: ["idle", "ring"],
  unreachable: ["warn", "triangle"],
  paused: ["idle", "pause"],
  stopped: ["bad", "square"],
};

export const LaneStateBadge = ({ state }: { state: Schemas["LaneState"] }) => {
  const [tone, shape] = LANE[state];
  return (
    <Badge tone={tone} shape={shape}>
      {state}
    </Badge>
  );
};

const WORK: Record<Schemas["WorkState"], Look> = {
  running: ["busy", "play"],
  done: ["ok", "check"],
  failed: ["bad", "cross"],
  lost: ["warn", "triangle"],
};

export const WorkBadge = ({ state }: { state: Schemas["WorkState"] }) => {
  const [tone, shape] = WORK[state];
  return (
    <Badge tone={tone} shape={shape}>
      {state}
    </Badge>
  );
};

/** A link's state in one or two words. */
export function linkState(link: Schemas["LinkSummary"]): { words: string; tone: Tone; shape: ShapeName } {
  if (link.problem !== null) return { words: "not known", tone: "warn", shape: "triangle" };
  if (link.stopped > 0) return { words: `${whole(link.stopped)} stopped`, tone: "bad", shape: "square" };
  if (link.paused) return { words: "paused", tone: "idle", shape: "pause" };
  if (!link.running) return { words: "not running", tone: "idle", shape: "ring" };
  if (link.ending) return { words: "ending", tone: "idle", shape: "half" };
  const states = new Map(link.totals.states as [Schemas["LaneState"], number][]);
  if (states.has("unreachable")) return { words: "source away", tone: "warn", shape: "triangle" };
  if (link.totals.complete) return { words: "following", tone: "ok", shape: "dot" };
  if (states.has("copying")) return { words: "copying", tone: "busy", shape: "play" };
  if (states.has("following")) return { words: "following", tone: "ok", shape: "dot" };
  return { words: "waiting", tone: "idle", shape: "ring" };
}

export const LinkBadge = ({ link }: { link: Schemas["LinkSummary"] }) => {
  const { words, tone, shape } = linkState(link);
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
};

const SEVERITY: Record<string, Look> = {
  error: ["bad", "cross"],
  warning: ["warn", "triangle"],
  info: ["idle", "ring"],
};

export const SeverityBadge = ({ severity }: { severity: string }) => {
  const [tone, shape] = SEVERITY[severity] ?? (["bad", "cross"] as const);
  return (
    <Badge tone={tone} shape={shape}>
      {severity}
    </Badge>
  );
};

const STREAM: Record<Schemas["StreamState"], Look> = {
  draft: ["idle", "ring"],
  starting: ["busy", "play"],
  running: ["ok", "dot"],
  degraded: ["warn", "triangle"],
  stopping: ["idle", "half"],
  lost: ["bad", "triangle"],
  stopped: ["idle", "square"],
  failed: ["bad", "cross"],
};

const ALERT: Record<Schemas["AlertState"], Look> = {
  firing: ["bad", "cross"],
  waiting: ["warn", "half"],
  over: ["ok", "check"],
};

export const AlertBadge = ({ state }: { state: Schemas["AlertState"] }) => {
  const [tone, shape] = ALERT[state];
  return (
    <Badge tone={tone} shape={shape}>
      {state}
    </Badge>
  );
};

export const StreamBadge = ({ state }: { state: Schemas["StreamState"] }) => {
  const [tone, shape] = STREAM[state];
  return (
    <Badge tone={tone} shape={shape}>
      {state}
    </Badge>
  );
};
