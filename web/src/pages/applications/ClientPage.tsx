import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { clientQuery } from "../../api/queries";
import { command } from "../../format/command";
import { bytes, UNKNOWN, whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { MoreRows } from "../../parts/MoreRows";
import { Page } from "../../parts/Page";
import { Table } from "../../parts/Table";
import { explainSearch } from "../routes/question";
import { Live, nameOf, placeOf, type Client } from "./client";

/** One registered client. */
export function ClientPage({ id }: { id: string }) {
  const query = useQuery(clientQuery(id));
  const client = query.data;
  return (
    <Page
      title={client ? nameOf(client) : "Client"}
      crumbs={[["Applications", "/applications"]]}
      beside={client ? <Live client={client} /> : null}
      actions={
        client ? (
          <Link className="button" href={`/routes/explain?${explainSearch(client.query).toString()}`}>
            Explain its route
          </Link>
        ) : null
      }
    >
      <Fetched query={query} what="the client">
        {(found) => <Shown client={found} />}
      </Fetched>
    </Page>
  );
}

const Shown = ({ client }: { client: Client }) => (
  <>
    <Notes client={client} />
    <Reported client={client} />
    <div className="columns">
      <About client={client} />
      <Route client={client} />
    </div>
    <Positions client={client} />
    <CommandLine
      text={command(
        ["route", "clients"],
        [
          ["--code", client.query.code],
          ["--group", client.query.group],
          ["--application", client.facts.application],
        ],
      )}
    />
  </>
);

/** What of it needs somebody, with what to do. */
const Notes = ({ client }: { client: Client }) => (
  <>
    {client.live ? null : (
      <div className="notice warn" role="status">
        <p className="strong">Its lease has run out: it ended without saying so, or does not reach the service.</p>
        <p className="dim">What to do: nothing where it runs, it goes on with the last route that it was told; restart it where it should have ended.</p>
      </div>
    )}
    {client.behind ? (
      <div className="notice warn" role="status">
        <p className="strong">
          It follows {client.report.version ? `version ${client.report.version}` : "no version yet"}, and version {client.since} leads it
          otherwise.
        </p>
        <p className="dim">What to do: wait for its next report; then look at its last error.</p>
      </div>
    ) : null}
    {client.report.last_error ? (
      <div className="notice bad">
        <p className="strong">Its last error</p>
        <pre>{client.report.last_error}</pre>
      </div>
    ) : null}
  </>
);

const Reported = ({ client: { query, report } }: { client: Client }) => (
  <Figures
    figures={[
      { label: "Follows", value: report.version ? `version ${whole(report.version)}` : "none yet", note: "of the route table" },
      ...(query.role === "consumer"
        ? [{ label: "Lag", value: report.lag === null ? UNKNOWN : whole(report.lag), note: report.lag === null ? "it has not said" : "records" }]
        : []),
      { label: query.role === "consumer" ? "Read" : "Written", value: whole(report.records), note: `records; ${bytes(report.bytes)}` },
      { label: "Errors", value: whole(report.errors), note: "since it began" },
    ]}
  />
);

function About({ client }: { client: Client }) {
  const { facts, query } = client;
  return (
    <section className="panel" aria-label="What it is">
      <h2>What it is</h2>
      <Facts
        facts={[
          ["id", <code key="id">{client.id}</code>],
          ["application", facts.application || "not told"],
          ["runs on", placeOf(client)],
          ["address", facts.address || "not told"],
          ["SDK", facts.sdk || "not told"],
          ["role", query.role],
          ["group", query.group || "none"],
          ["client id", query.client_id || "none"],
          ["topics", query.topics.join(", ") || "none named"],
          ["parameters", parametersWords(query.parameters)],
          ["registered", <Age key="registered" ms={client.registered_ms} absolute />],
          ["lease ends", <Age key="until" ms={client.until_ms} absolute />],
        ]}
      />
    </section>
  );
}

const parametersWords = (parameters: Readonly<Record<string, string>>): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ") || "none";

const Route = ({ client }: { client: Client }) => (
  <section className="panel" aria-label="Where it is led">
    <h2>Where it is led</h2>
    <Facts
      facts={[
        ["code", client.query.code],
        ["cluster", client.cluster || "none: it is refused"],
        ["since", client.since ? <Link key="since" href={`/routes/versions/${client.since}`}>version {client.since}</Link> : "never"],
      ]}
    />
  </section>
);

function Positions({ client }: { client: Client }) {
  const rows = Object.entries(client.report.positions).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  if (client.query.role === "producer") return null;
  return (
    <section className="panel" aria-label="Positions">
      <h2>Positions</h2>
      {rows.length === 0 ? (
        <p className="dim">It has told none: it has no partition, or has not reported yet.</p>
      ) : (
        <MoreRows rows={rows} what="positions">
          {(shown) => (
            <div className="flush">
              <Table
                caption={`Positions on ${client.cluster}`}
                rows={shown}
                rowKey={([partition]) => partition}
                columns={[
                  { key: "partition", label: "partition", head: "Partition", cell: ([partition]) => <span className="anywhere">{partition}</span> },
                  { key: "next", label: "next offset", head: "Next offset", number: true, cell: ([, offset]) => whole(offset) },
                ]}
              />
            </div>
          )}
        </MoreRows>
      )}
    </section>
  );
}
