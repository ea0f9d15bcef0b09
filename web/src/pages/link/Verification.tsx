import { useQuery } from "@tanstack/react-query";
import { ProblemError } from "../../api/problem";
import type { Schemas } from "../../api/client";
import { verificationQuery } from "../../api/queries";
import { command } from "../../format/command";
import { bytes, counted, share, whole } from "../../format/numbers";
import { Age, ReadAge } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { linkApi } from "./path";
import { Samples } from "./Samples";
import { foundOf, type Report } from "./verifyReport";

interface Props {
  target: string;
  link: string;
}

const SILENT_MS = 180_000;

export function Verification({ target, link }: Props) {
  const query = useQuery(verificationQuery(target, link));
  const run = query.data?.run;
  const goes = run !== undefined && query.data !== undefined && isRunning(query.data);
  const body = { target, link };
  const never = query.error instanceof ProblemError && query.error.problem.type.endsWith(":never-verified");
  return (
    <section className="stack" aria-label="Verification">
      <div className="row">
        {query.data ? <ReadAge ms={query.data.read_at_ms} problem={null} /> : null}
        <span className="row end">
          <Action verb="verify.start" body={body} title={`Compare both sides of ${link}`} main why={goes ? "a comparison runs" : null}>
            Compare
          </Action>
          {run !== undefined && !goes && run.state !== "done" ? (
            <Action verb="verify.resume" body={body} title={`Go on comparing ${link}`}>
              Resume
            </Action>
          ) : null}
          {goes ? (
            <Action verb="verify.stop" body={body} title={`Stop comparing ${link}`}>
              Stop
            </Action>
          ) : null}
        </span>
      </div>
      {never ? (
        <div className="panel">
          <Empty title="This link was never compared">
            <p className="dim">A comparison reads both sides record by record, while the link goes on, and names every difference.</p>
            <Action verb="verify.start" body={body} title={`Compare both sides of ${link}`}>
              Compare now
            </Action>
          </Empty>
        </div>
      ) : (
        <Fetched query={query} what="the last comparison">
          {(data) => <Shown target={target} link={link} status={data} />}
        </Fetched>
      )}
    </section>
  );
}

const isRunning = ({ run, read_at_ms }: Schemas["VerifyStatus"]): boolean =>
  run.state === "running" && read_at_ms - run.updated_at_ms < SILENT_MS;

function Shown({ target, link, status }: Props & { status: Schemas["VerifyStatus"] }) {
  const { run } = status;
  const report = status.report as Report | null;
  const own = report !== null && report.run === run.run;
  return (
    <div className="stack-wide">
      <Figures
        figures={[
          { label: "Comparison", value: <RunBadge status={status} />, note: run.why || run.run },
          {
            label: "Compared",
            value: run.offsets ? share(run.done / run.offsets) : "0.0 %",
            note: `${whole(run.done)} of ${counted(run.offsets, "source offset")}`,
          },
          { label: "Records read", value: whole(run.records), note: bytes(run.bytes) },
          { label: "Differing records", value: whole(run.differing) },
          { label: "Began", value: <Age ms={run.started_at_ms} /> },
          { label: "Last word", value: <Age ms={run.updated_at_ms} /> },
        ]}
      />
      {report === null ? (
        <p className="dim">It has no report yet: that is made when it ends.</p>
      ) : (
        <>
          {own ? null : <p className="old">The report below is that of an earlier comparison, {report.run}.</p>}
          <Lanes report={report} />
          <Samples target={target} link={link} samples={report.samples} />
          <section className="panel" aria-label="The report itself">
            <h2>The report itself</h2>
            <div className="row">
              <Download
                name={`verify-${link}-${report.run}.json`}
                text={`${JSON.stringify(status.report, null, 2)}\n`}
                label="Save the report (JSON)"
                kind="application/json"
              />
              {own ? (
                <a href={linkApi(target, link, "verification/page")} download>
                  Save the report as a page (HTML)
                </a>
              ) : null}
              <span className="dim small">
                As <code>schemas/verify-report.schema.json</code> has it.
              </span>
            </div>
            <CommandLine
              text={command(
                ["verify", "show", link],
                [
                  ["--target", target],
                  ["--report", `verify-${link}.json`],
                  ["--page", `verify-${link}.html`],
                ],
              )}
            />
          </section>
        </>
      )}
    </div>
  );
}

function RunBadge({ status }: { status: Schemas["VerifyStatus"] }) {
  const report = status.report as Report | null;
  if (status.run.state === "running") {
    return isRunning(status) ? (
      <Badge tone="busy" shape="play">
        running
      </Badge>
    ) : (
      <Badge tone="warn" shape="triangle">
        silent
      </Badge>
    );
  }
  if (status.run.state === "done" && report?.run === status.run.run) return <Verdict verdict={report.verdict} />;
  return status.run.state === "failed" ? (
    <Badge tone="bad" shape="cross">
      failed
    </Badge>
  ) : (
    <Badge tone="idle" shape="square">
      {status.run.state}
    </Badge>
  );
}

const Verdict = ({ verdict }: { verdict: Report["verdict"] }) =>
  verdict === "equal" ? (
    <Badge tone="ok" shape="check">
      equal
    </Badge>
  ) : verdict === "different" ? (
    <Badge tone="bad" shape="cross">
      different
    </Badge>
  ) : (
    <Badge tone="warn" shape="triangle">
      unknown
    </Badge>
  );

const Lanes = ({ report }: { report: Report }) => (
  <section className="panel" aria-label="Compared lanes">
    <h2>
      {counted(report.lanes.length, "lane")}
      {report.not_compared.length ? `, and ${whole(report.not_compared.length)} not compared` : ""}
    </h2>
    <div className="flush">
      <Table
        caption="Compared lanes"
        rows={report.lanes}
        rowKey={(lane) => lane.lane}
        columns={[
          { key: "lane", label: "lane", head: "Lane", cell: (lane) => lane.lane },
          { key: "verdict", label: "verdict", head: "Verdict", cell: (lane) => <Verdict verdict={lane.verdict} /> },
          { key: "from", label: "from", head: "From", number: true, cell: (lane) => whole(lane.source.from) },
          { key: "to", label: "verified to", head: "Verified to", number: true, cell: (lane) => whole(lane.source.verified_to) },
          { key: "pin", label: "pin", head: "Pin", number: true, cell: (lane) => whole(lane.source.to) },
          { key: "source", label: "source records", head: "Source records", number: true, cell: (lane) => whole(lane.source.records) },
          { key: "target", label: "target records", head: "Target records", number: true, cell: (lane) => whole(lane.target.records) },
          {
            key: "found",
            label: "found",
            head: "Found",
            cell: (lane) =>
              foundOf(lane.counts)
                .map(([kind, number]) => `${whole(number)} ${kind}`)
                .join(", ") || <span className="dim">nothing</span>,
          },
        ]}
      />
    </div>
    {report.not_compared.length ? (
      <Table
        caption="Lanes that were not compared"
        rows={report.not_compared}
        rowKey={(one) => one.lane}
        columns={[
          { key: "lane", label: "lane", head: "Not compared", cell: (one) => one.lane },
          { key: "reason", label: "why", head: "Why", cell: (one) => one.reason },
        ]}
      />
    ) : null}
  </section>
);
