import type { ReactNode } from "react";
import { Link } from "wouter";
import { command } from "../../format/command";
import { perSecond, seconds, whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Figures, type Figure } from "../../parts/Figures";
import { Shape } from "../../parts/Shape";
import { Action } from "../../plans/Action";
import { isActive, streamPath, totalsOf } from "../../streams/stream";
import { Watermark } from "../../streams/Watermark";
import { QueriesTable } from "./QueriesTable";
import type { TabProps } from "./StreamPage";

/** How a stream goes, and what it is. */
export const Overview = ({ answer }: TabProps) => (
  <>
    <Why answer={answer} />
    <NextVersion answer={answer} />
    <Sums answer={answer} />
    <section className="panel" aria-label="Queries">
      <h2>Queries</h2>
      {answer.stream.queries.length ? (
        <div className="flush">
          <QueriesTable stream={answer.stream} />
        </div>
      ) : (
        <Empty title={isActive(answer.stream) ? "No query has told anything here yet" : "No query runs"}>
          <p className="dim">
            {isActive(answer.stream)
              ? "Each INSERT of a script, and each job.start of a file, is a query; one that runs on another machine is told by the service there."
              : "Each INSERT of a script, and each job.start of a file, is a query once the stream is started."}
          </p>
        </Empty>
      )}
    </section>
    <About answer={answer} />
  </>
);

/** Why it is not as it was wanted, with the next step. */
function Why({ answer: { stream, runs } }: TabProps) {
  if (stream.why === "" || stream.state === "running") return null;
  const isBad = stream.state === "failed";
  const [run] = runs;
  return (
    <div className={`notice ${isBad ? "bad" : "warn"}`} role="status">
      <div className="notice-title">
        <Shape name={isBad ? "cross" : "triangle"} size={12} />
        <span>
          {isBad
            ? "It has failed, and is not started again by itself"
            : stream.state === "degraded"
              ? "Its job has failed, and is started again by itself"
              : stream.state === "lost"
                ? "Whether it runs is not known"
                : `It is ${stream.state}`}
        </span>
      </div>
      <p>{stream.why}</p>
      <div className="row">
        {run ? <Link href={`${streamPath(stream.name, "logs")}?run=${run.id}`}>Look at its log</Link> : null}
        {isBad ? <Link href={streamPath(stream.name, "edit")}>Correct its script</Link> : null}
      </div>
    </div>
  );
}

/** A version that was saved and does not run, with what has it run. */
function NextVersion({ answer: { stream, versions } }: TabProps) {
  const { name, running_version: runs, published } = stream;
  const newest = versions[0]?.number ?? published;
  if (runs !== null && runs !== published) {
    return (
      <div className="notice" role="status">
        <p>
          Version {runs} runs; version {published} is published, and runs once it is restarted.{" "}
          <Link href={`${streamPath(name, "versions")}?from=${runs}&to=${published}`}>What differs</Link>
        </p>
      </div>
    );
  }
  if (newest <= published) return null;
  return (
    <div className="notice" role="status">
      <p>
        Version {newest} is saved, and version {published} is published: a start runs that one.{" "}
        <Link href={`${streamPath(name, "versions")}?from=${published}&to=${newest}`}>What differs</Link>
      </p>
      <div className="row">
        <Action verb="streams.publish" body={{ stream: name, version: newest }} title={`Publish version ${newest} of ${name}`} little>
          Publish version {newest}
        </Action>
      </div>
    </div>
  );
}

const told = (value: number | null, words: (value: number) => string): ReactNode => (value === null ? <span className="dim">none</span> : words(value));

function Sums({ answer: { stream } }: TabProps) {
  const { rate, lag, batchMs, watermark, state } = totalsOf(stream.queries);
  const figures: Figure[] = [
    { label: "Rows", value: told(rate, perSecond), note: "that it processes" },
    { label: "Lag", value: told(lag, whole), note: "records of Kafka" },
    { label: "Batch", value: told(batchMs, (ms) => seconds(ms / 1000)), note: "the longest of the last ones" },
    { label: "Watermark", value: <Watermark at={watermark} />, note: "of the query that is furthest behind" },
    { label: "State", value: told(state, whole), note: "rows" },
  ];
  return (
    <Figures
      figures={[
        {
          label: "Version",
          value: whole(stream.running_version ?? stream.published),
          note: stream.running_version === null ? "does not run" : "runs",
        },
        ...(stream.queries.length ? figures : []),
        { label: "Starts", value: whole(stream.starts), note: <>in this state <Age ms={stream.since_ms} /></> },
      ]}
    />
  );
}

function About({ answer: { stream, versions, checkpoints } }: TabProps) {
  const shown = versions.find((one) => one.number === (stream.running_version ?? stream.published));
  return (
    <section className="panel" aria-label="About this stream">
      <h2>About this stream</h2>
      <Facts
        facts={[
          ["owner", stream.owner],
          ["wanted", stream.wanted],
          ["a micro-batch begins", shown === undefined ? "not known" : triggerWords(shown.settings.trigger)],
          ["started again", shown === undefined ? "not known" : restartsWords(shown.settings.restarts)],
          ["runs on", shown === undefined ? "not known" : shown.settings.launcher],
          ["checkpoints", <code key="checkpoints">{checkpoints}</code>],
        ]}
      />
      <CommandLine text={command(["stream", "show", stream.name])} />
    </section>
  );
}

export const triggerWords = (trigger: string): string =>
  trigger === "availableNow" ? "with all that there is, and the stream ends then (availableNow)" : `every ${trigger}`;

export const restartsWords = (restarts: number): string =>
  restarts === 0 ? "never by itself" : `${whole(restarts)} times within an hour at most`;
