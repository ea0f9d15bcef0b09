import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { groupQuery, groupsQuery, movesQuery } from "../../api/queries";
import { counted, whole } from "../../format/numbers";
import { literal } from "../../format/patterns";
import { Age, ReadAge } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { GroupBody, words } from "../../plans/GroupsBody";

interface Props {
  target: string;
  link: string;
}

/** The groups of a link's source, on both clusters; one of them in full, where the address names it. */
export function Groups({ target, link }: Props) {
  const [search] = useSearchParams();
  const group = search.get("group");
  return group === null ? <All target={target} link={link} /> : <One target={target} link={link} group={group} />;
}

function All({ target, link }: Props) {
  const query = useQuery(groupsQuery(target, link));
  const [text, setText] = useState("");
  const body = { target, link };
  return (
    <section className="stack" aria-label="Groups">
      <div className="filters">
        <input
          className="input"
          type="search"
          aria-label="Filter groups by name"
          placeholder="Group"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {query.data ? (
          <>
            <span className="dim small">{counted(query.data.groups.length, "group")}</span>
            <ReadAge ms={query.data.read_at_ms} problem={null} />
          </>
        ) : null}
        <span className="row end">
          <Action verb="groups.baseline" body={body} title="Take a baseline of groups">
            Baseline
          </Action>
          <Action verb="groups.sync" body={body} title="Move groups" main>
            Move groups
          </Action>
          <Action verb="groups.create" body={{ target }} title="Begin a group">
            Begin a group
          </Action>
        </span>
      </div>
      <Fetched query={query} what="groups on both clusters">
        {(data) => (
          <>
            {data.round ? <Round round={data.round} /> : null}
            <div className="panel">
              {data.groups.length === 0 ? (
                <Empty title="No group on the source has committed anything">
                  <p className="dim">Groups appear here once their consumers commit.</p>
                </Empty>
              ) : (
                <Found groups={data.groups.filter((one) => one.group.includes(text.trim()))} text={text} all={() => setText("")} />
              )}
            </div>
          </>
        )}
      </Fetched>
      <Moves target={target} />
    </section>
  );
}

const Found = ({ groups, text, all }: { groups: readonly Schemas["GroupRow"][]; text: string; all: () => void }) =>
  groups.length === 0 ? (
    <Empty title={`No group has "${text.trim()}" in its name`}>
      <Button act={all}>Show all groups</Button>
    </Empty>
  ) : (
    <div className="flush">
      <Rows groups={groups} />
    </div>
  );

/** What was moved on a cluster by any link, and can be taken back. */
function Moves({ target }: { target: string }) {
  const query = useQuery(movesQuery(target));
  return (
    <section className="panel" aria-label="Moves">
      <h2>Moves of groups on {target}</h2>
      <Fetched query={query} what="the moves of groups">
        {(moves) =>
          moves.length === 0 ? (
            <p className="dim">No group was moved there yet.</p>
          ) : (
            <div className="flush">
              <Table
                caption="Moves"
                rows={moves}
                rowKey={(move) => move.id}
                columns={[
                  { key: "at", label: "at", head: "At", cell: (move) => <Age ms={move.made_at_ms} /> },
                  { key: "what", label: "what", head: "What", cell: (move) => <span className="anywhere">{move.what}</span> },
                  {
                    key: "groups",
                    label: "groups",
                    head: "Groups",
                    cell: (move) => <span className="anywhere small">{named(move.groups)}</span>,
                  },
                  { key: "undone", label: "taken back", head: "Taken back", cell: takenBack },
                  {
                    key: "undo",
                    label: "undo",
                    head: "Undo",
                    cell: (move) => (
                      <Action
                        verb="groups.undo"
                        body={{ target, undo: move.id }}
                        title={`Take move ${move.id} back`}
                        why={move.undone.length === move.groups.length ? "it was taken back" : null}
                        little
                      >
                        Undo
                      </Action>
                    ),
                  },
                ]}
              />
            </div>
          )
        }
      </Fetched>
    </section>
  );
}

const NAMES = 5;
const named = (groups: readonly string[]): string =>
  groups.length > NAMES ? `${groups.slice(0, NAMES).join(", ")} and ${whole(groups.length - NAMES)} more` : groups.join(", ");

const takenBack = (move: Schemas["MoveSummary"]): ReactNode =>
  move.undone.length === 0 ? <span className="dim">no</span> : move.undone.length === move.groups.length ? "yes" : named(move.undone);

const Round = ({ round }: { round: Schemas["SyncRound"] }) => (
  <p className={round.error ? "old" : "dim"}>
    Continuous sync: the last round ended <Age ms={round.ended_at_ms} />, {counted(round.moved, "group")} moved
    {round.error ? `; it failed: ${round.error}` : "."}
  </p>
);

function Rows({ groups }: { groups: readonly Schemas["GroupRow"][] }) {
  const [, setSearch] = useSearchParams();
  return (
    <Table
      caption="Groups"
      rows={groups}
      rowKey={(row) => row.group}
      columns={[
        {
          key: "group",
          label: "group",
          head: "Group",
          cell: (row) => (
            <a
              href={`?group=${encodeURIComponent(row.group)}`}
              className="strong anywhere"
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                setSearch({ group: row.group });
              }}
            >
              {row.group}
            </a>
          ),
        },
        { key: "kind", label: "kind", head: "Kind", cell: (row) => row.kind },
        { key: "state", label: "on the source", head: "On the source", cell: (row) => words(row.state) },
        { key: "there", label: "on the target", head: "On the target", cell: (row) => words(row.target_state) },
        { key: "in", label: "commits in the link", head: "Commits in the link", number: true, cell: (row) => whole(row.in_link) },
        { key: "out", label: "outside of it", head: "Outside of it", number: true, cell: (row) => whole(row.outside) },
        { key: "baseline", label: "baseline", head: "Baseline", cell: (row) => row.baseline ?? <span className="dim">none</span> },
        { key: "sync", label: "continuous sync", head: "Continuous sync", cell: (row) => <Sync sync={row.sync} /> },
        { key: "advice", label: "advice", head: "Advice", cell: (row) => <span className="small">{row.advice}</span> },
      ]}
    />
  );
}

function Sync({ sync }: { sync: Schemas["GroupSyncStatus"] | null }) {
  if (sync === null) return <span className="dim">not followed</span>;
  const [tone, shape] =
    sync.state === "in sync"
      ? (["ok", "dot"] as const)
      : sync.state === "blocked"
        ? (["warn", "triangle"] as const)
        : (["idle", "ring"] as const);
  return (
    <span title={sync.why}>
      <Badge tone={tone} shape={shape}>
        {sync.state}
      </Badge>
    </span>
  );
}

function One({ target, link, group }: Props & { group: string }) {
  const query = useQuery(groupQuery(target, link, group));
  const [, setSearch] = useSearchParams();
  const body = { target, link, groups: [literal(group)] };
  return (
    <section className="stack" aria-label={`Group ${group}`}>
      <div className="row">
        <button type="button" className="button little" onClick={() => setSearch({})}>
          ← All groups
        </button>
        {query.data ? <ReadAge ms={query.data.read_at_ms} problem={null} /> : null}
        <span className="row end">
          <Action verb="groups.baseline" body={body} title={`Take a baseline of ${group}`}>
            Baseline
          </Action>
          <Action verb="groups.sync" body={body} title={`Move ${group}`} main>
            Move this group
          </Action>
        </span>
      </div>
      <Fetched query={query} what={`group ${group}`}>
        {(data) => (
          <>
            <div className="panel">
              <h2>What a move would do now</h2>
              <GroupBody group={data.plan} />
            </div>
            <div className="columns">
              <Members side="source" group={data.source} />
              <Members side="target" group={data.target} />
              <div className="panel">
                <h2>Continuous sync and baseline</h2>
                <Facts
                  facts={[
                    ["continuous sync", <span key="sync"><Sync sync={data.sync} /> {data.sync?.why}</span>],
                    ["baseline", data.baseline ? <Age key="age" ms={data.baseline.taken_at_ms} absolute /> : "none was taken"],
                  ]}
                />
              </div>
            </div>
          </>
        )}
      </Fetched>
    </section>
  );
}

const Members = ({ side, group }: { side: string; group: Schemas["Group"] | null }) => (
  <div className="panel">
    <h2>On the {side}</h2>
    {group === null ? (
      <p className="dim">The group is not known there.</p>
    ) : (
      <>
        <p>
          {group.kind}, {words(group.state)}, {counted(group.members.length, "member")}
        </p>
        {group.members.length ? (
          <Table
            caption={`Members on the ${side}`}
            rows={group.members}
            rowKey={(member) => member.id}
            columns={[
              { key: "client", label: "client", head: "Client", cell: (member) => member.client_id },
              { key: "host", label: "host", head: "Host", cell: (member) => member.host },
            ]}
          />
        ) : null}
      </>
    )}
  </div>
);
