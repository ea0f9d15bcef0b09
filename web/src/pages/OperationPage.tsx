import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { operationQuery } from "../api/queries";
import { Age } from "../parts/Age";
import { Document } from "../parts/Document";
import { Facts } from "../parts/Facts";
import { Fetched } from "../parts/Fetched";
import { Page } from "../parts/Page";
import { WorkBadge } from "../parts/states";
import { Action } from "../plans/Action";
import { WorkView } from "../plans/OperationView";
import { linkPath } from "./link/path";

export function OperationPage({ id }: { id: string }) {
  const query = useQuery(operationQuery(id));
  const work = query.data;
  return (
    <Page
      title={work ? work.verb : "Operation"}
      crumbs={[["Operations", "/operations"]]}
      beside={work ? <WorkBadge state={work.state} /> : null}
      actions={work ? <Undo work={work} /> : null}
    >
      <Fetched query={query} what="the operation">
        {(found) => (
          <>
            <WorkView work={found} again={<Again work={found} />} />
            <section className="panel" aria-label="About this operation">
              <Facts
                facts={[
                  ["id", <code key="id" className="anywhere">{found.id}</code>],
                  ["by", found.account],
                  ["began", <Age key="began" ms={found.began_at} absolute />],
                  ["ended", found.ended_at === null ? "not yet" : <Age key="ended" ms={found.ended_at} absolute />],
                  ["instance", found.instance],
                  [
                    "plan",
                    found.plan === null ? (
                      "none"
                    ) : (
                      <span key="plan">
                        <Link href={`/plans/${found.plan}`}>as it was shown</Link>, hash{" "}
                        <span className="hash">{found.hash}</span>
                      </span>
                    ),
                  ],
                  ["asked for", <Document key="request" value={askedFor(found)} />],
                ]}
              />
            </section>
          </>
        )}
      </Fetched>
    </Page>
  );
}

/** A route table may have thousands of rules: its plan, one click away, shows what of it changed. */
const askedFor = ({ request }: Schemas["Work"]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(request).filter(([name]) => name !== "table"));

/** The same request, planned again. */
const Again = ({ work }: { work: Schemas["Work"] }) => (
  <Action verb={work.verb} body={{ ...EMPTY, ...work.request }} title={`Plan ${work.verb} again`} little>
    Plan again
  </Action>
);

/** Every field is given: nothing is asked for a second time. */
const EMPTY = {};

function Undo({ work }: { work: Schemas["Work"] }) {
  const { target, link } = work.request as { target?: unknown; link?: unknown };
  const undo = (work.report as { undo?: unknown } | null)?.undo;
  return (
    <>
      {typeof target === "string" && typeof link === "string" ? (
        <Link className="button" href={linkPath(target, link)}>
          The link
        </Link>
      ) : null}
      {work.verb.startsWith("groups.") && typeof undo === "string" && undo && typeof target === "string" ? (
        <Action verb="groups.undo" body={{ target, undo }} title="Take this move back">
          Undo
        </Action>
      ) : null}
      {work.verb === "checkpoints.rewrite" && typeof undo === "string" ? (
        <Action verb="checkpoints.undo" body={{ path: work.request["path"] }} title="Take this rewrite back">
          Undo
        </Action>
      ) : null}
    </>
  );
}
