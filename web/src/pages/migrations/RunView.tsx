import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { exactly, pauseOf, stepMs, took } from "../../migrations/pause";
import { StepList, type ShownStep } from "../../migrations/StepList";
import { RunBadge } from "../../migrations/WaveBadge";
import { runWords, type WaveRun } from "../../migrations/waves";
import { Age } from "../../parts/Age";
import type { Tone } from "../../parts/Badge";
import { Document } from "../../parts/Document";
import { Facts } from "../../parts/Facts";
import { Folded } from "../../parts/Folded";
import { sentence } from "../../parts/ProblemNotice";
import { Shape, type ShapeName } from "../../parts/Shape";
import { PauseClock } from "./PauseClock";

/** What a run is, how it stands, and when it began. */
export const RunTitle = ({ run }: { run: WaveRun }) => (
  <>
    {runWords(run)} <RunBadge run={run} />{" "}
    <span className="dim small">
      <Age ms={run.began_ms} />
    </span>
  </>
);

interface Props {
  answer: Schemas["WaveRunAnswer"];
  nowMs: number;
  label?: string;
}

/** A run: why it was taken back, its pause, and its steps. */
export function RunView({ answer: { run, steps }, nowMs, label = runWords(run) }: Props) {
  const pause = pauseOf(run, nowMs);
  const audit = new URLSearchParams({ verb: `migrations.${run.what}`, account: run.author });
  return (
    <div className="stack">
      {why(run) === "" ? null : (
        <div className={`notice ${run.is_open ? "warn" : "bad"}`} role={run.is_open ? "status" : undefined}>
          <div className="notice-title">
            <Shape name={run.is_open ? "half" : "cross"} size={12} />
            <span>{run.is_open ? "It is being taken back" : "It was taken back, and all is as before it"}</span>
          </div>
          <p>{why(run)}</p>
        </div>
      )}
      {pause === null ? null : <PauseClock pause={pause} longestMs={run.longest_ms} isOpen={run.is_open} />}
      <Facts
        facts={[
          ["from", run.source],
          ["to", run.target],
          ["begun by", <span key="by">{run.author}, <Age ms={run.began_ms} absolute /></span>],
          [
            run.is_open ? "takes" : "took",
            took((run.over_ms ?? nowMs) - run.began_ms),
          ],
          ["audit", <Link key="audit" href={`/audit?${audit.toString()}`}>who asked for it, and how it went</Link>],
        ]}
      />
      <StepList label={`Steps: ${label}`} steps={steps.map((step, at) => shown(run, steps, step, at, nowMs))} />
    </div>
  );
}

/** Why it was, or will be, taken back; empty where it goes on. */
const why = (run: WaveRun): string => run.why || (run.has_passed || run.state === "done" ? "" : run.cancelled);

const LOOK: Record<string, readonly [Tone, ShapeName]> = {
  done: ["ok", "check"],
  doing: ["busy", "play"],
  "to do": ["idle", "ring"],
  "not done": ["idle", "ring"],
  "putting back": ["warn", "half"],
  "put back": ["bad", "cross"],
};

type Step = Schemas["StepAnswer"];

function shown(run: WaveRun, steps: readonly Step[], step: Step, at: number, nowMs: number): ShownStep {
  const [tone, shape] = LOOK[step.state] ?? (["idle", "ring"] as const);
  const ms = stepMs(run.began_ms, steps, at, nowMs);
  const isNow = run.is_open && (step.state === "doing" || step.state === "putting back");
  const result = Object.keys(step.result).length > 0;
  return {
    text: sentence(step.text),
    tone,
    shape,
    state: step.state,
    took: ms === null ? "" : step.state === "doing" ? took(ms) : ms < 10_000 ? exactly(ms) : took(ms),
    isNow,
    isLine: at === run.no_return,
    under: (
      <>
        {isNow && run.waits ? (
          <div className="old" role="status">
            {sentence(run.waits)}
          </div>
        ) : null}
        {result ? (
          <Folded summary={<span className="small">What it wrote down<span className="hidden">: {step.text}</span></span>}>
            {() => <Document value={step.result} />}
          </Folded>
        ) : null}
      </>
    ),
  };
}
