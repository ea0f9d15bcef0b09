import type { Schemas } from "../../api/client";
import { counted, UNKNOWN, whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";

export type Client = Schemas["ClientAnswer"];

/** What people know a client by. */
export const nameOf = (client: Client): string => client.query.client_id || client.facts.application || client.id.slice(0, 8);

export const placeOf = ({ facts }: Client): string => `${facts.host || facts.address}, pid ${facts.pid}`;

/** Whether its lease runs, and when it was heard of. */
export const Live = ({ client }: { client: Client }) => (
  <span className="row">
    <Badge tone={client.live ? "ok" : "bad"} shape={client.live ? "dot" : "triangle"}>
      {client.live ? "live" : "stale"}
    </Badge>
    <span className="small dim">
      heard of <Age ms={client.seen_ms} />
    </span>
  </span>
);

/** The version of the route table that it follows. */
export const Follows = ({ client }: { client: Client }) => (
  <span className="row">
    {client.report.version ? `version ${whole(client.report.version)}` : <span className="dim">none yet</span>}
    {client.behind ? (
      <Badge tone="warn" shape="half">
        behind
      </Badge>
    ) : null}
  </span>
);

/** How far a consumer is; a producer has neither lag nor positions. */
export function Lag({ client }: { client: Client }) {
  const partitions = Object.keys(client.report.positions).length;
  if (client.query.role === "producer") return null;
  return (
    <>
      {client.report.lag === null ? <span title="it has not said">{UNKNOWN}</span> : whole(client.report.lag)}
      {partitions ? <div className="small dim">in {counted(partitions, "partition")}</div> : null}
    </>
  );
}
