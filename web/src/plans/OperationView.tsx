import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Schemas } from "../api/client";
import { operationQuery } from "../api/queries";
import type { Problem } from "../api/problem";
import { seconds } from "../format/numbers";
import { literal } from "../format/patterns";
import { useNow } from "../live/ticker";
import { Document } from "../parts/Document";
import { Fetched } from "../parts/Fetched";
import { ProblemOf } from "../parts/ProblemNotice";
import { Shape } from "../parts/Shape";
import { migrationPath } from "../migrations/waves";
import { streamPath } from "../streams/stream";
import { switchPath } from "../routes/switches";
import { GroupsBody } from "./GroupsBody";
import { reportWords } from "./report";

/** Where an operation stands, and what came of it. */
export function OperationView({ id, again }: { id: string; again?: ReactNode }) {
  const query = useQuery(operationQuery(id));
  return (
    <Fetched query={query} what="the operation">
      {(work) => <WorkView work={work} again={again} />}
    </Fetched>
  );
}

export function WorkView({ work, again }: { work: Schemas["Work"]; again?: ReactNode }) {
  if (work.state === "running") return <Running work={work} />;
  if (work.problem !== null) {
    const problem = work.problem as unknown as Problem;
    return (
      <ProblemOf problem={problem} title={titleOf(work, problem)} tone={work.state === "lost" ? "warn" : "bad"}>
        {again}
      </ProblemOf>
    );
  }
  const words = reportWords(work);
  return (
    <div className="stack">
      <div className="notice ok" role="status">
        <div className="notice-title">
          <Shape name="check" size={12} />
          <span>{words || "Done."}</span>
        </div>
        {work.ended_at === null ? null : (
          <p className="dim small">It took {seconds((work.ended_at - work.began_at) / 1000)}.</p>
        )}
      </div>
      {work.verb.startsWith("routes.") ? <Switched report={work.report as Partial<Schemas["RoutesPublished"]>} /> : null}
      {work.verb.startsWith("migrations.") ? <Moves work={work} /> : null}
      {work.verb.startsWith("streams.") && work.verb !== "streams.delete" ? <OfStream name={String(work.request["stream"])} /> : null}
      {work.verb === "offsets.rebuild" ? <Adopt work={work} /> : null}
      {work.verb === "groups.sync" ? (
        <GroupsBody groups={(work.report as Schemas["GroupsMoved"]).groups} />
      ) : (
        <details>
          <summary>The whole report</summary>
          <div className="panel">
            <Document value={work.report} />
          </div>
        </details>
      )}
    </div>
  );
}

/** What maps are made for: a link that goes on where they end. */
function Adopt({ work }: { work: Schemas["Work"] }) {
  const { source, target, link, topics } = work.request as Record<"source" | "target" | "link", string> & { topics: Record<string, string> };
  const copies = Object.entries(topics);
  const naming = copies.every(([name, copy]) => copy === name)
    ? "identity"
    : copies.every(([name, copy]) => copy === `${source}.${name}`)
      ? "prefix"
      : "";
  const given = new URLSearchParams({ source, target, id: link, adopt: (work.report as Schemas["AlignmentReport"]).file });
  if (naming) given.set("naming", naming);
  given.set("include", copies.map(([name]) => literal(name)).join("\n"));
  return (
    <p>
      <Link className="button main" href={`/links/create?${given.toString()}`}>
        Create the link that adopts them
      </Link>
    </p>
  );
}

/** Where a migration's waves are seen, unless that is where somebody is. */
function Moves({ work: { request } }: { work: Schemas["Work"] }) {
  const [path] = useLocation();
  const named = request["migration"];
  const name = typeof named === "string" ? named : String((named as Readonly<Record<string, unknown>> | undefined)?.["name"] ?? "");
  if (name === "" || path === migrationPath(name)) return null;
  return (
    <p>
      <Link href={migrationPath(name)}>Look at migration {name}</Link>: each wave, and each step as it goes.
    </p>
  );
}

/** Where a stream is seen, unless that is where somebody is. */
function OfStream({ name }: { name: string }) {
  const [path] = useLocation();
  if (path === streamPath(name)) return null;
  return (
    <p>
      <Link href={streamPath(name)}>Look at stream {name}</Link>: its state, its versions, and how its queries go.
    </p>
  );
}

/** How far it is; clients that are moved meanwhile have a page of their own. */
function Progress({ progress: { switch: id, ...others } }: { progress: Readonly<Record<string, unknown>> }) {
  return (
    <>
      <Document value={others} />
      {typeof id === "string" && id !== "" ? (
        <p>
          <Link href={switchPath(id)}>Look at the switch</Link>: each client, and giving it up.
        </p>
      ) : null}
    </>
  );
}

/** How clients that ran were moved by a change of the routes, and what is not known because a cluster was away. */
function Switched({ report: { switch: id, doubts } }: { report: Partial<Schemas["RoutesPublished"]> }) {
  return (
    <>
      {id ? (
        <p>
          <Link href={switchPath(id)}>Look at the switch</Link>: how each client was moved.
        </p>
      ) : null}
      {doubts?.length ? (
        <div className="notice warn">
          <p className="strong">What is in doubt</p>
          <ul>
            {doubts.map((doubt) => (
              <li key={doubt}>{doubt}</li>
            ))}
          </ul>
        </div>
      ) : null}
    </>
  );
}

function titleOf(work: Schemas["Work"], problem: Problem): string {
  if (problem.type.endsWith(":plan-changed")) return "This plan has changed since it was made: nothing was changed";
  if (work.state === "lost") return "How this operation ended is not known";
  return "Not done";
}

function Running({ work }: { work: Schemas["Work"] }) {
  const now = useNow();
  return (
    <div className="notice" role="status">
      <div className="notice-title">
        <Shape name="play" size={12} />
        <span>Running for {seconds(Math.max(0, Math.round((now - work.began_at) / 1000)))}</span>
      </div>
      <p className="dim">It goes on by itself: this page may be closed.</p>
      {work.progress ? <Progress progress={work.progress} /> : null}
      {work.verb.startsWith("migrations.") ? <Moves work={work} /> : null}
    </div>
  );
}
