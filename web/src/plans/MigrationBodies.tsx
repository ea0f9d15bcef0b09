import type { Schemas } from "../api/client";
import { bytes, counted, rate, seconds, whole } from "../format/numbers";
import { StepList, type ShownStep } from "../migrations/StepList";
import { Document } from "../parts/Document";
import { Facts } from "../parts/Facts";
import { Folded } from "../parts/Folded";
import { MoreRows } from "../parts/MoreRows";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";
import { differences, type Change } from "./diff";

const PASSES: Schemas["StepKind"] = "point of no return";

/** What is done for a wave: each step with what it would meet now. */
export const WaveRunBody = ({ plan }: { plan: Schemas["WaveRunPlan"] }) => (
  <div className="stack">
    <Facts
      facts={[
        ["wave", plan.part === "all" ? plan.wave : `${plan.wave}: its ${plan.part}`],
        ["from", plan.source],
        ["to", plan.target],
      ]}
    />
    {plan.reasons.length ? <Reasons reasons={plan.reasons} /> : <p>Nothing speaks against it.</p>}
    <h3>{counted(plan.steps.length, "step")}, and what each would meet now</h3>
    <StepList label="Steps" steps={plan.steps.map(seen)} />
  </div>
);

function seen(step: Schemas["SeenStep"]): ShownStep {
  const isLine = step.kind === PASSES;
  const under = step.what ? <div className={step.forbidden || step.waits ? "old small" : "dim small"}>{step.what}</div> : null;
  const plain = { text: step.text, took: "", isNow: false, isLine, under };
  if (step.forbidden) return { ...plain, tone: "bad", shape: "cross", state: "forbidden" };
  if (step.waits) return { ...plain, tone: "warn", shape: "triangle", state: "would wait" };
  return { ...plain, tone: "idle", shape: "ring", state: "" };
}

const planned = ({ kind, text }: Schemas["MigrationStep"]): ShownStep => ({
  text,
  tone: "idle",
  shape: "ring",
  state: "",
  took: "",
  isNow: false,
  isLine: kind === PASSES,
});

/** What begins now, what each switch will do later, and every reason. */
export const StartBody = ({ plan }: { plan: Schemas["MigrationPlan"] }) => (
  <div className="stack-wide">
    <Facts
      facts={[
        ["migration", plan.name],
        ["from", `${plan.source}, cluster ${plan.source_id}`],
        ["to", `${plan.target}, cluster ${plan.target_id}`],
      ]}
    />
    {plan.reasons.length ? <Reasons reasons={plan.reasons} /> : null}
    {plan.waves.length === 0 ? <p>No wave is left to start: the file would only be kept.</p> : null}
    <MoreRows rows={plan.waves} what="waves">
      {(waves) => (
        <>
          {waves.map((wave) => (
            <WaveStart key={wave.name} wave={wave} isAll={plan.reasons.length === 0} />
          ))}
        </>
      )}
    </MoreRows>
  </div>
);

/** `isAll` is whether the plan has no reasons but those of its waves. */
const WaveStart = ({ wave, isAll }: { wave: Schemas["WavePlan"]; isAll: boolean }) => (
  <section className="stack" aria-label={`Wave ${wave.name}`}>
    <h3>
      Wave {wave.name}: {counted(wave.topics.length, "topic")}, {counted(wave.groups.length, "group")}
    </h3>
    <p>{estimated(wave.estimate)}</p>
    {wave.reasons.length ? (
      <Reasons reasons={wave.reasons} />
    ) : (
      <p>{isAll ? "Nothing speaks against it." : "Nothing speaks against it but what is said of the whole."}</p>
    )}
    <StepList label={`Steps to start wave ${wave.name}`} steps={wave.start.map(planned)} />
    {wave.topics.length ? (
      <Folded summary={counted(wave.topics.length, "topic")}>
        {() => (
          <MoreRows rows={wave.topics} what="topics">
            {(topics) => (
              <Table
                caption={`Topics of wave ${wave.name}`}
                rows={topics}
                rowKey={(topic) => topic.source}
                columns={[
                  { key: "source", label: "source", head: "Source", cell: (topic) => <span className="anywhere">{topic.source}</span> },
                  { key: "target", label: "target", head: "Target", cell: (topic) => <span className="anywhere">{topic.target}</span> },
                  { key: "partitions", label: "partitions", head: "Partitions", number: true, cell: (topic) => whole(topic.partitions) },
                  { key: "exists", label: "on the target", head: "On the target", cell: (topic) => (topic.exists ? "is there" : "would be made") },
                ]}
              />
            )}
          </MoreRows>
        )}
      </Folded>
    ) : null}
    {wave.switches.map(({ part, steps }) => (
      <Folded key={part} summary={`What ${part === "all" ? "its switch" : `the switch of its ${part}`} does later: ${counted(steps.length, "step")}`}>
        {() => <StepList label={`Steps to switch wave ${wave.name}, ${part}`} steps={steps.map(planned)} />}
      </Folded>
    ))}
  </section>
);

function estimated({ size, written, rate: copied, seconds: time, assumed, waves }: Schemas["Estimate"]): string {
  if (time === null) return `How long its copy takes is not known; ${rate(written)} are written meanwhile.`;
  return `Its copy takes about ${seconds(time)}: ${bytes(size)} at ${rate(copied)}${assumed ? ", which is assumed" : ""}${waves > 1 ? `, while ${waves} waves copy at once` : ""}, and ${rate(written)} written meanwhile.`;
}

/** What is under way, and the steps that go back, the last first. */
export const GiveUpBody = ({ plan }: { plan: Schemas["GiveUpPlan"] }) => (
  <div className="stack">
    <p>
      {plan.goes_on
        ? `The ${plan.verb} of wave ${plan.wave} would be ended without the source.`
        : `The ${plan.verb} of wave ${plan.wave} would be taken back, and all would be as before it. It may have come further until then: once it has passed the point of no return, this is refused, unless the source is gone.`}
    </p>
    {plan.left_out.length ? (
      <>
        <h3>{counted(plan.left_out.length, "step")} would be left out, without the source</h3>
        <ul>
          {plan.left_out.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </>
    ) : null}
    {plan.steps.length ? (
      <>
        <h3>{counted(plan.steps.length, "step")} would {plan.goes_on ? "still be done" : "be put back, the last first"}</h3>
        <StepList
          label={plan.goes_on ? "Steps that would still be done" : "Steps that would be put back"}
          steps={plan.steps.map((text) => ({ text, tone: "idle", shape: "ring", state: "", took: "", isNow: false, isLine: false }))}
        />
      </>
    ) : (
      <p>{plan.goes_on ? "Nothing else is left to do." : "None of its steps was begun: nothing has to be put back."}</p>
    )}
  </div>
);

export function HoldBody({ plan }: { plan: Schemas["HoldPlan"] }) {
  const waves = [...new Set([...Object.keys(plan.before), ...Object.keys(plan.after)])].sort();
  if (waves.length === 0) return <p>Nothing of migration {plan.migration} is held.</p>;
  return (
    <Table
      caption="What is held"
      rows={waves}
      rowKey={(wave) => wave}
      columns={[
        { key: "wave", label: "wave", head: "Wave", cell: (wave) => <strong className="anywhere">{wave || "all of them"}</strong> },
        { key: "now", label: "now", head: "Now", cell: (wave) => <Why words={plan.before[wave]} other={plan.after[wave]} side="old" /> },
        { key: "then", label: "then", head: "Then", cell: (wave) => <Why words={plan.after[wave]} other={plan.before[wave]} side="new" /> },
      ]}
    />
  );
}

function Why({ words, other, side }: { words: string | undefined; other: string | undefined; side: "old" | "new" }) {
  if (words === undefined) return <span className="dim">not held</span>;
  const told = words === other ? words : side === "old" ? <del className="change-old">{words}</del> : <ins className="change-new">{words}</ins>;
  return <div className="told">{told}</div>;
}

/** How fast it may copy from now on. */
export const ThrottleBody = ({ plan: { before, after } }: { plan: Schemas["ThrottlePlan"] }) => (
  <Facts
    facts={[
      ["now", allowed(before)],
      ["then", <strong key="then">{allowed(after)}</strong>],
    ]}
  />
);

function allowed({ rate: most, is_paused: isPaused }: Schemas["OperatorThrottle"]): string {
  if (isPaused) return "nothing is copied";
  return most === null ? "as fast as its file and both clusters allow" : `at most ${rate(most)}, as far as its file and both clusters allow`;
}

/** What a rehearsal makes and removes, and what it leaves out. */
export const RehearsalBody = ({ plan }: { plan: Schemas["RehearsalPlan"] }) => (
  <div className="stack">
    <p className="strong">
      The whole path of wave {plan.wave} would be tried, there and back, on topics, groups and checkpoints that are made for it and removed at the end.
    </p>
    <Made caption="Topics" made={plan.topics} />
    <Made caption="Groups" made={plan.groups} />
    {plan.left_out.length ? (
      <>
        <h3>Left out: a real application would hear of it</h3>
        <ul>
          {plan.left_out.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </>
    ) : null}
  </div>
);

const Made = ({ caption, made }: { caption: string; made: Readonly<Record<string, string>> }) =>
  Object.keys(made).length === 0 ? null : (
    <MoreRows rows={Object.entries(made)} what={caption.toLowerCase()}>
      {(rows) => (
        <Table
          caption={caption}
          rows={rows}
          rowKey={([real]) => real}
          columns={[
            { key: "made", label: "is made", head: `${caption} that are made`, cell: ([, one]) => <span className="anywhere">{one}</span> },
            { key: "like", label: "like", head: "Like", cell: ([real]) => <span className="anywhere">{real}</span> },
          ]}
        />
      )}
    </MoreRows>
  );

export function SetBody({ plan }: { plan: Schemas["SetPlan"] }) {
  const changes = differences(plan.before, plan.after).flatMap((change) => (change.path === "waves" ? byWave(plan) : [change]));
  if (changes.length === 0) return <p>The file stays as it is.</p>;
  return (
    <div className="stack">
      <Table
        caption="Fields that change"
        rows={changes}
        rowKey={(change) => change.path}
        columns={[
          { key: "path", label: "field", head: "Field", cell: (change) => <code className="anywhere">{change.path}</code> },
          { key: "old", label: "now", head: "Now", cell: (change) => <div className="told"><del className="change-old">{change.before}</del></div> },
          { key: "new", label: "then", head: "Then", cell: (change) => <div className="told"><ins className="change-new">{change.after}</ins></div> },
        ]}
      />
      <Folded summary="The whole file then">{() => <Document value={plan.after} />}</Folded>
    </div>
  );
}

/** Each wave beside itself; where none is another one, it is their order that changes. */
function byWave({ before, after }: Schemas["SetPlan"]): Change[] {
  const [now, then] = [named(before["waves"]), named(after["waves"])];
  const found = differences(now, then, "waves");
  return found.length ? found : differences(Object.keys(now), Object.keys(then), "order of waves");
}

/** Waves by their names, in place of a list: what changes of each is told. */
const named = (waves: unknown): Record<string, unknown> =>
  Object.fromEntries((Array.isArray(waves) ? (waves as Record<string, unknown>[]) : []).map((wave) => [String(wave["name"]), wave]));
