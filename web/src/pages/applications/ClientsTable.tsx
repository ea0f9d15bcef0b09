import { Link } from "wouter";
import { whole } from "../../format/numbers";
import { Table } from "../../parts/Table";
import { Follows, Lag, Live, nameOf, placeOf, type Client } from "./client";

const FEW = 3;

/** One row a client. */
export const ClientsTable = ({ clients }: { clients: readonly Client[] }) => (
  <Table
    caption="Clients"
    rows={clients}
    rowKey={(client) => client.id}
    columns={[
      {
        key: "client",
        label: "client",
        head: "Client",
        cell: (client) => (
          <span className="anywhere">
            <Link href={`/applications/${client.id}`} className="strong">
              {nameOf(client)}
            </Link>
            {client.facts.application && client.facts.application !== nameOf(client) ? (
              <div className="small dim">{client.facts.application}</div>
            ) : null}
          </span>
        ),
      },
      {
        key: "where",
        label: "runs on",
        head: "Runs on",
        cell: (client) => (
          <span className="anywhere">
            {placeOf(client)}
            {client.facts.sdk ? <div className="small dim">SDK {client.facts.sdk}</div> : null}
          </span>
        ),
      },
      {
        key: "role",
        label: "role",
        head: "Role",
        cell: ({ query }) => (
          <span className="anywhere">
            {query.role}
            {query.group ? <div className="small">group {query.group}</div> : null}
          </span>
        ),
      },
      { key: "topics", label: "topics", head: "Topics", cell: ({ query }) => <div className="anywhere small">{few(query.topics)}</div> },
      {
        key: "cluster",
        label: "cluster",
        head: "Cluster",
        cell: ({ cluster, query }) => (
          <span className="anywhere">
            {cluster || <span className="dim">none</span>}
            <div className="small dim">by code {query.code}</div>
          </span>
        ),
      },
      { key: "lag", label: "lag", head: "Lag", number: true, cell: (client) => <Lag client={client} /> },
      {
        key: "errors",
        label: "errors",
        head: "Errors",
        cell: ({ report }) => (
          <span>
            {whole(report.errors)}
            {report.last_error ? <div className="small old told">{shortened(report.last_error)}</div> : null}
          </span>
        ),
      },
      { key: "version", label: "follows", head: "Follows", cell: (client) => <Follows client={client} /> },
      { key: "state", label: "state", head: "State", cell: (client) => <Live client={client} /> },
    ]}
  />
);

const few = (topics: readonly string[]): string =>
  topics.slice(0, FEW).join(", ") + (topics.length > FEW ? ` and ${whole(topics.length - FEW)} more` : "");

const shortened = (text: string): string => (text.length > 120 ? `${text.slice(0, 119)}…` : text);
