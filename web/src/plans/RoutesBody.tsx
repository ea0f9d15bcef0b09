import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { routeVersionQuery } from "../api/queries";
import { counted, either, whole } from "../format/numbers";
import { linkPath } from "../pages/link/path";
import { Differences } from "../routes/Differences";
import { tableOf } from "../routes/table";
import { Facts } from "../parts/Facts";
import { Fetched } from "../parts/Fetched";
import { MoreRows } from "../parts/MoreRows";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";

interface Props {
  plan: Schemas["RoutesPlan"];
  request: Readonly<Record<string, unknown>>;
}

/** What another route table changes, whom it moves from where to where, and what is worth a look. */
export function RoutesBody({ plan, request }: Props) {
  const reasons = [...plan.reasons, ...plan.impact.reasons];
  const moved = plan.impact.moves.length;
  const groups = Object.entries(plan.impact.groups);
  return (
    <div className="stack">
      <Facts
        facts={[
          ["version", plan.base === 0 ? "the first one" : `${plan.base + 1}, in place of ${plan.base}`],
          ["reason", plan.reason],
        ]}
      />
      <p className="strong">
        {counted(moved, "registered client")} {either(moved, "changes", "change")}, {whole(plan.impact.staying)}{" "}
        {either(plan.impact.staying, "stays as it is", "stay as they are")}
      </p>
      {reasons.length ? <Reasons reasons={reasons} /> : null}
      <Switch plan={plan} />
      {groups.length ? (
        <MoreRows rows={groups} what="groups">
          {(rows) => (
            <Table
              caption="Groups that move"
              rows={rows}
              rowKey={([group]) => group}
              columns={[
                { key: "group", label: "group", head: "Group", cell: ([group]) => <strong className="anywhere">{group}</strong> },
                { key: "from", label: "from", head: "From", cell: ([, [from]]) => from },
                { key: "to", label: "to", head: "To", cell: ([, [, to]]) => <span className="change-new">{to}</span> },
              ]}
            />
          )}
        </MoreRows>
      ) : null}
      {moved ? <Moves moves={plan.impact.moves} /> : null}
      <h3>What changes in the table</h3>
      <Changes plan={plan} request={request} />
    </div>
  );
}

/** What becomes of a switch's clients and groups where it is given up. */
export const CancelSwitchBody = ({ plan }: { plan: Schemas["CancelSwitchPlan"] }) => (
  <div className="stack">
    <Facts
      facts={[
        ["state", plan.state],
        ["clients", `${whole(plan.clients)}, of which ${whole(plan.paused)} have paused`],
        ["groups", plan.groups.length ? plan.groups.join(", ") : "none"],
        ["reason", plan.reason],
      ]}
    />
    <p>
      Every client goes on where it was, at the record where it was. Version {plan.version} is not published, and groups that were moved
      already are taken back.
    </p>
    <p className="dim">
      Nothing is lost by it: the same change can be planned and applied again. Once the table is published it is too late, and this is refused.
    </p>
  </div>
);

/** How clients that run come to another cluster. */
function Switch({ plan: { impact, policy, switch: links } }: { plan: Schemas["RoutesPlan"] }) {
  if (links.length === 0) {
    return policy.at_once && Object.keys(impact.groups).length ? (
      <p className="old">
        At once: nobody pauses, and no position is moved. Groups go on where they have committed on the other cluster, else by their
        auto.offset.reset.
      </p>
    ) : null;
  }
  return (
    <>
      <p>
        They pause, what they wrote is copied, groups are moved to exactly the next record, and the table is published. They have{" "}
        {whole(policy.timeout_ms / 1000)} s to pause;{" "}
        {policy.stragglers === "cancel"
          ? "where one does not, nothing is published."
          : "producers that do not are left behind."}
        {policy.when_lost === "go" ? " A cluster that does not answer is left without waiting for it; what is in doubt then is told." : null}
      </p>
      <Table
        caption="How they are moved"
        rows={links}
        rowKey={(one) => `${one.before} ${one.after} ${one.link}`}
        columns={[
          { key: "from", label: "from", head: "From", cell: (one) => one.before },
          { key: "to", label: "to", head: "To", cell: (one) => one.after },
          { key: "link", label: "by link", head: "By link", cell: (one) => <Link href={linkPath(one.after, one.link)}>{one.link}</Link> },
          { key: "clients", label: "clients", head: "Clients", number: true, cell: (one) => whole(one.clients) },
        ]}
      />
    </>
  );
}

interface Alike {
  who: string;
  from: string;
  to: string;
  why: string;
  clients: string[];
}

/** Clients that move alike are one row: a group, or the producers of an application. */
function Moves({ moves }: { moves: Schemas["RoutesPlan"]["impact"]["moves"] }) {
  const alike = new Map<string, Alike>();
  for (const { client, before, after, why } of moves) {
    const { group, role, client_id: id } = client.query;
    const name = client.facts.application || id || client.id.slice(0, 8);
    const who = group ? `group ${group}` : `${role}s of ${name}`;
    const from = before?.cluster ?? "refused";
    const there = after?.cluster ?? "refused";
    const to = from === there && after !== null ? `${there}, otherwise` : there;
    const key = JSON.stringify([who, from, to, why]);
    const found = alike.get(key) ?? { who, from, to, why, clients: [] };
    found.clients.push(`${client.facts.host} pid ${client.facts.pid}`);
    alike.set(key, found);
  }
  const rows = [...alike.values()].sort((a, b) => a.who.localeCompare(b.who));
  return (
    <MoreRows rows={rows} what="of whom it moves">
      {(shown) => (
        <Table
          caption="Who moves"
          rows={shown}
          rowKey={(row) => `${row.who} ${row.from} ${row.to} ${row.why}`}
          columns={[
            { key: "who", label: "who", head: "Who", cell: (row) => <strong className="anywhere">{row.who}</strong> },
            { key: "from", label: "from", head: "From", cell: (row) => row.from },
            { key: "to", label: "to", head: "To", cell: (row) => <span className={row.why ? "old" : "change-new"}>{row.to}</span> },
            { key: "clients", label: "clients", head: "Clients", number: true, cell: (row) => whole(row.clients.length) },
            { key: "first", label: "where they run", head: "Where they run", cell: (row) => <span className="small anywhere">{few(row.clients)}</span> },
            ...(rows.some((row) => row.why)
              ? [{ key: "why", label: "why", head: "Why", cell: (row: Alike) => <span className="small anywhere">{row.why}</span> }]
              : []),
          ]}
        />
      )}
    </MoreRows>
  );
}

const few = (names: readonly string[]): string =>
  names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${whole(names.length - 3)} more` : "");

/** The table of the plan beside the one that it takes the place of; both are asked for once. */
function Changes({ plan, request }: Props) {
  const again = typeof request["version"] === "number" ? request["version"] : 0;
  const before = useQuery(routeVersionQuery(plan.base));
  const after = useQuery(routeVersionQuery(again));
  return (
    <Fetched query={before} what="the version before">
      {(former) => (
        <Fetched query={after} what="the version that is published again">
          {(later) => (
            <Differences
              before={tableOf(former?.table)}
              after={tableOf(later === null ? request["table"] : later.table)}
              heads={["Now", "Then"]}
              same="Nothing: this table is the one that applies."
            />
          )}
        </Fetched>
      )}
    </Fetched>
  );
}
