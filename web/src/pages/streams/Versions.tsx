import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { streamVersionQuery } from "../../api/queries";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Fetched } from "../../parts/Fetched";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { ScriptDiff } from "../../streams/ScriptDiff";
import { streamPath, type Stream } from "../../streams/stream";
import { versionWords } from "./ScriptTab";
import type { TabProps } from "./StreamPage";

type Note = Schemas["StreamVersionNote"];

/** Every version, the newest first, and what differs between two of them. */
export const Versions = ({ answer }: TabProps) => (
  <>
    <section className="panel" aria-label="Versions">
      <div className="row">
        <h2>Versions</h2>
        <span className="row end">
          <Action
            verb="streams.rollback"
            body={{ stream: answer.stream.name }}
            title={`Roll ${answer.stream.name} back`}
            why={answer.stream.former === 0 ? "no other version was published before" : null}
          >
            Roll back{answer.stream.former === 0 ? "" : ` to version ${answer.stream.former}`}
          </Action>
        </span>
      </div>
      <MoreRows rows={answer.versions} what="versions">
        {(versions) => (
          <div className="flush">
            <Rows stream={answer.stream} versions={versions} />
          </div>
        )}
      </MoreRows>
      <CommandLine text={command(["stream", "versions", answer.stream.name])} />
    </section>
    {answer.versions.length > 1 ? <Compared answer={answer} /> : null}
  </>
);

const Rows = ({ stream, versions }: { stream: Stream; versions: readonly Note[] }) => (
  <Table
    caption="Versions"
    rows={versions}
    rowKey={(one) => String(one.number)}
    columns={[
      {
        key: "version",
        label: "version",
        head: "Version",
        cell: (one) => (
          <span className="row">
            <Link href={`${streamPath(stream.name, "script")}?version=${one.number}`} className="strong nowrap">
              version {one.number}
            </Link>
            {one.number === stream.running_version ? (
              <Badge tone="ok" shape="dot">
                runs
              </Badge>
            ) : null}
            {one.number === stream.published ? (
              <Badge tone="busy" shape="check">
                published
              </Badge>
            ) : null}
          </span>
        ),
      },
      { key: "at", label: "saved", head: "Saved", cell: (one) => <Age ms={one.at_ms} absolute /> },
      { key: "author", label: "by", head: "By", cell: (one) => <span className="anywhere">{one.author}</span> },
      { key: "note", label: "note", head: "Note", cell: (one) => (one.note ? <div className="told">{one.note}</div> : null) },
      { key: "trigger", label: "trigger", head: "Trigger", cell: (one) => one.settings.trigger },
      {
        key: "publish",
        label: "publish",
        head: <span className="hidden">Actions</span>,
        cell: (one) =>
          one.number === stream.published ? null : (
            <Action
              verb="streams.publish"
              body={{ stream: stream.name, version: one.number }}
              title={`Publish version ${one.number} of ${stream.name}`}
              little
            >
              Publish <span className="hidden">version {one.number}</span>
            </Action>
          ),
      },
    ]}
  />
);

/** Which two are compared is in the page's address. */
function Compared({ answer: { stream, versions } }: TabProps) {
  const [search, setSearch] = useSearchParams();
  const numbered = (name: string) => versions.find((one) => one.number === Number(search.get(name)));
  const to = numbered("to") ?? versions[0];
  const from = numbered("from") ?? versions.find((one) => one.number < (to?.number ?? 0)) ?? versions[1];
  const view = search.get("view");
  if (from === undefined || to === undefined) return null;
  const change = (changes: Readonly<Record<string, string>>) =>
    setSearch(new URLSearchParams({ from: String(from.number), to: String(to.number), ...(view ? { view } : {}), ...changes }), { replace: true });
  const choose = (name: "from" | "to", label: string, chosen: Note) => (
    <span className="row nowrap">
      <span aria-hidden="true">{label}</span>
      <select
        className="input"
        aria-label={`${label} version`}
        value={chosen.number}
        onChange={(event) => change({ [name]: event.target.value })}
      >
        {versions.map((one) => (
          <option key={one.number} value={one.number}>
            {versionWords(one, stream)}
          </option>
        ))}
      </select>
    </span>
  );
  return (
    <section className="panel" aria-label="What differs">
      <h2>What differs</h2>
      <div className="filters">
        {choose("from", "From", from)}
        {choose("to", "to", to)}
      </div>
      <Both name={stream.name} from={from} to={to} view={view} change={(next) => change({ view: next })} />
      <CommandLine text={command(["stream", "diff", stream.name, String(from.number), String(to.number)])} />
    </section>
  );
}

interface BothProps {
  name: string;
  from: Note;
  to: Note;
  view: string | null;
  change: (view: string) => void;
}

function Both({ name, from, to, view, change }: BothProps) {
  const before = useQuery(streamVersionQuery(name, from));
  const after = useQuery(streamVersionQuery(name, to));
  return (
    <Fetched query={before} what={`version ${from.number}`}>
      {(former) => (
        <Fetched query={after} what={`version ${to.number}`}>
          {(later) => (
            <ScriptDiff
              before={{ name: `version ${former.number}`, script: former.script, settings: former.settings }}
              after={{ name: `version ${later.number}`, script: later.script, settings: later.settings }}
              view={view}
              change={change}
            />
          )}
        </Fetched>
      )}
    </Fetched>
  );
}
