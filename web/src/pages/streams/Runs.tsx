import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { seconds } from "../../format/numbers";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Table } from "../../parts/Table";
import { streamPath } from "../../streams/stream";
import type { TabProps } from "./StreamPage";

type Run = Schemas["StreamRunAnswer"];

/** Each start of a stream, the newest first, and how it ended. */
export const Runs = ({ answer: { stream, runs } }: TabProps) => (
  <section className="panel" aria-label="Runs">
    {runs.length === 0 ? (
      <Empty title="It was never started">
        <p className="dim">Each start is listed here with its version, and how it ended.</p>
      </Empty>
    ) : (
      <div className="flush">
        <Table
          caption="Runs"
          rows={runs}
          rowKey={(run) => run.id}
          columns={[
            { key: "start", label: "start", head: "Start", number: true, cell: (run) => run.fence },
            { key: "state", label: "state", head: "State", cell: (run) => <RunState run={run} /> },
            {
              key: "version",
              label: "version",
              head: "Version",
              cell: (run) => <Link href={`${streamPath(stream.name, "script")}?version=${run.version}`}>version {run.version}</Link>,
            },
            { key: "began", label: "began", head: "Began", cell: (run) => <Age ms={run.began_at_ms} absolute /> },
            { key: "ran", label: "ran for", head: "Ran for", number: true, cell: (run) => <RanFor run={run} /> },
            { key: "where", label: "where", head: "Where", cell: (run) => <span className="anywhere small">{where(run)}</span> },
            { key: "why", label: "why", head: "Why it ended", cell: (run) => (run.why ? <div className="told small">{run.why}</div> : null) },
            {
              key: "log",
              label: "log",
              head: <span className="hidden">Log</span>,
              cell: (run) => (
                <Link href={`${streamPath(stream.name, "logs")}?run=${run.id}`} aria-label={`Log of start ${run.fence}`}>
                  Log
                </Link>
              ),
            },
          ]}
        />
      </div>
    )}
    <CommandLine text={command(["stream", "show", stream.name])} />
  </section>
);

const where = ({ host, pid }: Run): string => (pid === 0 ? host : `${host}, process ${pid}`);

export function RunState({ run }: { run: Run }) {
  if (run.ended_at_ms === null) {
    return run.stopping_at_ms === null ? (
      <Badge tone="busy" shape="play">
        goes on
      </Badge>
    ) : (
      <Badge tone="idle" shape="half">
        ending
      </Badge>
    );
  }
  return run.failed ? (
    <Badge tone="bad" shape="cross">
      failed{run.exit_code === null ? "" : ` with ${run.exit_code}`}
    </Badge>
  ) : (
    <Badge tone="ok" shape="check">
      ended
    </Badge>
  );
}

const RanFor = ({ run }: { run: Run }) =>
  run.ended_at_ms === null ? <Age ms={run.began_at_ms} /> : <>{seconds((run.ended_at_ms - run.began_at_ms) / 1000)}</>;
