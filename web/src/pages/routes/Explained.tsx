import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { whole } from "../../format/numbers";
import { Badge, type Tone } from "../../parts/Badge";
import { Facts } from "../../parts/Facts";
import { MoreRows } from "../../parts/MoreRows";
import { ProblemOf } from "../../parts/ProblemNotice";
import type { ShapeName } from "../../parts/Shape";
import { Table } from "../../parts/Table";
import { leadsTo, mayWords } from "../../routes/words";

/** A client's route or why it is refused, and the way of each of its topics, code by code. */
export const Explained = ({ found }: { found: Schemas["ExplainedAnswer"] }) => (
  <>
    {found.problem === null ? null : (
      <ProblemOf problem={found.problem} title="Such a client is refused">
        {found.problem.type.endsWith(":no-routes") ? <Link href="/routes/change">Write the first table</Link> : null}
      </ProblemOf>
    )}
    {found.route === null ? null : <Led route={found.route} />}
    <MoreRows rows={found.ways} what="ways">
      {(ways) => ways.map((way, index) => <Way key={`${way.topic} ${index}`} way={way} />)}
    </MoreRows>
  </>
);

function Led({ route }: { route: Schemas["RouteAnswer"] }) {
  const renamed = Object.entries(route.topics).filter(([asked, there]) => asked !== there);
  return (
    <section className="panel" aria-label="The route">
      <h2>
        Code {route.code} leads to cluster {route.cluster}
      </h2>
      <Facts
        facts={[
          ["decided by", route.rule ? `rule ${route.rule}` : "the code itself: no rule matches"],
          ["since", `version ${whole(route.since)}`],
          ["rights", mayWords(route.may_read, route.may_write)],
          ["addresses", route.bootstrap.join(", ")],
          ["security", String(route.security["protocol"] ?? "PLAINTEXT")],
        ]}
      />
      {renamed.length ? (
        <MoreRows rows={renamed} what="topics">
          {(rows) => (
            <Table
              caption="Topics that are called otherwise there"
              rows={rows}
              rowKey={([asked]) => asked}
              columns={[
                { key: "asked", label: "topic", head: "Topic", cell: ([asked]) => <span className="anywhere">{asked}</span> },
                { key: "there", label: "there", head: "There", cell: ([, there]) => <strong className="anywhere">{there}</strong> },
              ]}
            />
          )}
        </MoreRows>
      ) : null}
    </section>
  );
}

function Way({ way }: { way: Schemas["TopicRoute"] }) {
  const title = way.topic === null ? "Its way" : `The way of topic ${way.topic}`;
  return (
    <section className="panel" aria-label={title}>
      <h2 className="anywhere">{title}</h2>
      {way.hops.map((hop) => (
        <HopView key={hop.code} hop={hop} />
      ))}
    </section>
  );
}

type Considered = Schemas["Considered"];

function HopView({ hop }: { hop: Schemas["Hop"] }) {
  const { cluster, code, topics, may_read: read, may_write: write } = hop.destination;
  // Whoever asks why wants what matches first: of thousands of rules most are for others.
  const rules = [...hop.considered].sort((a, b) => Number(a.misses.length > 0) - Number(b.misses.length > 0));
  return (
    <div className="stack">
      <p>
        <strong>Code {hop.code}</strong>: {hop.rule ? `rule ${hop.rule} decides` : "no rule matches, the code decides"}; it leads to{" "}
        <strong>{leadsTo({ cluster, code, topics, read, write })}</strong>.
      </p>
      {rules.length ? (
        <MoreRows rows={rules} what="rules">
          {(rows) => (
            <Table
              caption={`Rules for code ${hop.code}`}
              rows={rows}
              rowKey={(one) => one.rule}
              columns={[
                { key: "priority", label: "priority", head: "Priority", number: true, cell: (one) => whole(one.priority) },
                { key: "rule", label: "rule", head: "Rule", cell: (one) => <strong className="anywhere">{one.rule}</strong> },
                { key: "verdict", label: "verdict", head: "Verdict", cell: (one) => <Verdict one={one} won={hop.rule} /> },
                { key: "why", label: "why", head: "Why", cell: (one) => <div className="told">{whyOf(one, hop.rule)}</div> },
              ]}
            />
          )}
        </MoreRows>
      ) : null}
    </div>
  );
}

function Verdict({ one, won }: { one: Considered; won: string }) {
  const [words, tone, shape]: [string, Tone, ShapeName] =
    one.rule === won ? ["decides", "ok", "check"] : one.misses.length ? ["does not match", "idle", "ring"] : ["matches", "warn", "half"];
  return (
    <Badge tone={tone} shape={shape}>
      {words}
    </Badge>
  );
}

function whyOf(one: Considered, won: string): string {
  if (one.misses.length) return one.misses.join("; ");
  return one.rule === won ? "it matches, and has the highest priority of those that do" : `its priority is lower than that of ${won}`;
}
