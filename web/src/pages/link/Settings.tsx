import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { processesQuery } from "../../api/queries";
import { whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { Document } from "../../parts/Document";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";

interface Props {
  target: string;
  link: string;
  answer: Schemas["LinkAnswer"];
}

interface FilterSpec {
  options?: { include?: string[]; exclude?: string[] };
  include?: string[];
  exclude?: string[];
}

export function Settings({ target, link, answer }: Props) {
  const { record, summary } = answer;
  const spec = record.wanted.spec as Record<string, unknown>;
  const filter = (spec["filter"] ?? {}) as FilterSpec;
  const include = filter.options?.include ?? filter.include ?? [];
  const exclude = filter.options?.exclude ?? filter.exclude ?? [];
  const limit = typeof spec["rate_limit"] === "number" ? spec["rate_limit"] : null;
  const body = { target, link };
  const given = { include: include.join("\n"), exclude: exclude.join("\n"), rate_limit: limit === null ? "" : String(limit) };
  return (
    <div className="columns">
      <section className="panel" aria-label="Settings">
        <div className="row">
          <h2>Settings</h2>
          <span className="end">
            <Action verb="links.set" body={body} title={`Change ${link}`} given={given}>
              Change
            </Action>
          </span>
        </div>
        <Facts
          facts={[
            ["wanted", record.wanted.paused ? "paused" : "copying"],
            ["created", <Age key="created" ms={record.created_at_ms} absolute />],
            ["revision", whole(record.wanted.revision)],
          ]}
        />
        <Document value={spec} />
      </section>
      <div className="stack">
        <Processes target={target} link={link} />
        <section className="panel" aria-label="More changes">
          <h2>More changes</h2>
          <div className="row">
            <Action verb="links.wait" body={body} title={`Wait until ${link} has caught up`}>
              Wait until caught up
            </Action>
            <Action verb="links.resume" body={body} title={`Resume ${link}`}>
              Resume
            </Action>
            <Action verb="links.accept" body={body} title={`Accept what is lost in ${link}`}>
              Accept what is lost
            </Action>
            <Action verb="links.abort-transaction" body={body} title="End a transaction of the source">
              End a transaction
            </Action>
            <Action verb="mirrormaker.publish" body={body} title="Publish for MirrorMaker 2's readers">
              Publish for MirrorMaker 2&#8217;s readers
            </Action>
            <Action
              verb="links.delete"
              body={body}
              title={`Delete ${link}`}
              why={summary.running ? "the link runs: stop it first" : null}
            >
              Delete
            </Action>
          </div>
        </section>
      </div>
    </div>
  );
}

function Processes({ target, link }: { target: string; link: string }) {
  const query = useQuery(processesQuery(target, link));
  return (
    <section className="panel" aria-label="Processes">
      <h2>Processes that the service started</h2>
      <Fetched query={query} what="processes">
        {(runs) =>
          runs.length === 0 ? (
            <Empty title="The service has started none for this link">
              <p className="dim">A run that somebody else started shows in the link&#8217;s state, not here.</p>
            </Empty>
          ) : (
            <div className="flush">
              <Table
                caption="Processes"
                rows={runs}
                rowKey={(run) => run.id}
                columns={[
                  { key: "kind", label: "kind", head: "Kind", cell: (run) => run.kind },
                  { key: "state", label: "state", head: "State", cell: (run) => <ProcessBadge run={run} /> },
                  { key: "pid", label: "process", head: "Process", cell: (run) => `${run.pid} on ${run.host}` },
                  { key: "began", label: "began", head: "Began", cell: (run) => <Age ms={run.began_at} /> },
                  { key: "account", label: "by", head: "By", cell: (run) => run.account },
                  { key: "log", label: "log", head: "Log", cell: (run) => <code className="small told">{run.log}</code> },
                ]}
              />
            </div>
          )
        }
      </Fetched>
    </section>
  );
}

const ProcessBadge = ({ run }: { run: Schemas["Run"] }) =>
  run.ended_at === null ? (
    <Badge tone="busy" shape="play">
      runs
    </Badge>
  ) : run.exit_code === 0 ? (
    <Badge tone="ok" shape="check">
      ended
    </Badge>
  ) : (
    <Badge tone={run.exit_code === null ? "idle" : "bad"} shape={run.exit_code === null ? "ring" : "cross"}>
      {run.exit_code === null ? "ended" : `exit code ${run.exit_code}`}
    </Badge>
  );
