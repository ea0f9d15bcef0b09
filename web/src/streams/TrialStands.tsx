import { seconds } from "../format/numbers";
import { Badge, type Tone } from "../parts/Badge";
import { Button } from "../parts/Button";
import type { ShapeName } from "../parts/Shape";
import type { Trial } from "./trial";
import { cachedAge, trialWords } from "./trialWords";

const LOOKS: Record<Trial["state"], readonly [Tone, ShapeName]> = {
  waiting: ["idle", "ring"],
  starting: ["busy", "half"],
  running: ["busy", "play"],
  finished: ["ok", "check"],
  failed: ["bad", "cross"],
  stopped: ["idle", "square"],
};

/** Where a look at a script stands, and how old an earlier answer is. */
export function TrialStands({ trial, count, again }: { trial: Trial; count: number; again: () => void }) {
  const [tone, shape] = LOOKS[trial.state];
  const age = cachedAge(trial);
  return (
    <div className="row" role="status">
      <Badge tone={tone} shape={shape}>
        {trial.state}
      </Badge>
      <span>{trialWords(trial, count)}</span>
      {age === null ? null : (
        <>
          <span className="dim small">An answer of {seconds(age / 1000)} ago.</span>
          <Button little act={again}>
            Look again
          </Button>
        </>
      )}
    </div>
  );
}
