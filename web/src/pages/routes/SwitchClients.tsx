import { useState } from "react";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { counted, whole } from "../../format/numbers";
import { Badge } from "../../parts/Badge";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";

type Client = Schemas["SwitchedClient"];

/** The clients that a switch moves, those first that have not paused. */
export function SwitchClients({ clients, isOpen }: { clients: readonly Client[]; isOpen: boolean }) {
  const rows = [...clients].sort((a, b) => Number(a.paused) - Number(b.paused));
  return (
    <section className="panel" aria-label="Clients">
      <h2>Clients</h2>
      {rows.length === 0 ? (
        <p className="dim">{isOpen ? "Whom it moves is still asked of every instance." : "It moved none."}</p>
      ) : (
        <MoreRows rows={rows} what="clients">
          {(shown) => (
            <div className="flush">
              <Table
                caption="Clients that it moves"
                rows={shown}
                rowKey={(client) => client.id}
                columns={[
                  {
                    key: "client",
                    label: "client",
                    head: "Client",
                    cell: (client) => (
                      <span className="anywhere">
                        <Link href={`/applications/${client.id}`} className="strong">
                          {client.words}
                        </Link>
                        <div className="small dim">
                          {client.role}
                          {client.group ? `, group ${client.group}` : ""}
                        </div>
                      </span>
                    ),
                  },
                  { key: "from", label: "from", head: "From", cell: (client) => client.before },
                  { key: "to", label: "to", head: "To", cell: (client) => <strong>{client.after}</strong> },
                  { key: "paused", label: "paused", head: "Paused", cell: (client) => <Paused client={client} isOpen={isOpen} /> },
                  {
                    key: "positions",
                    label: "handed over",
                    head: "Handed over",
                    cell: (client) => <Offsets offsets={client.positions} what={`Next offsets on ${client.before}`} />,
                  },
                  {
                    key: "starts",
                    label: "starts",
                    head: "Starts",
                    cell: (client) => <Offsets offsets={client.starts} what={`Where it starts on ${client.after}`} />,
                  },
                  { key: "doubt", label: "in doubt", head: "In doubt", cell: (client) => <Doubt client={client} /> },
                ]}
              />
            </div>
          )}
        </MoreRows>
      )}
    </section>
  );
}

function Paused({ client, isOpen }: { client: Client; isOpen: boolean }) {
  if (client.left) {
    return (
      <Badge tone="warn" shape="triangle">
        left behind
      </Badge>
    );
  }
  if (client.paused) {
    return (
      <Badge tone="ok" shape="pause">
        paused
      </Badge>
    );
  }
  return (
    <Badge tone={isOpen ? "busy" : "idle"} shape="ring">
      {isOpen ? "not yet" : "had not paused"}
    </Badge>
  );
}

function Doubt({ client }: { client: Client }) {
  const messages = Object.values(client.uncertain).reduce((sum, one) => sum + one, 0);
  if (messages === 0) return <span className="dim">none</span>;
  return <Offsets offsets={client.uncertain} what="Messages of which it does not know whether they were appended" title={counted(messages, "message")} />;
}

interface Props {
  offsets: Readonly<Record<string, number>>;
  /** What the numbers are. */
  what: string;
  title?: string;
}

/** Numbers by partition, drawn once they are asked for: many clients have many. */
function Offsets({ offsets, what, title }: Props) {
  const [open, setOpen] = useState(false);
  const rows = Object.entries(offsets).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  if (rows.length === 0) return <span className="dim">none</span>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title ?? counted(rows.length, "partition")}</summary>
      {open ? (
        <div className="small">
          <p className="dim">{what}</p>
          <MoreRows rows={rows} what="partitions">
            {(shown) => (
              <ul>
                {shown.map(([partition, offset]) => (
                  <li key={partition} className="anywhere">
                    {partition}: {whole(offset)}
                  </li>
                ))}
              </ul>
            )}
          </MoreRows>
        </div>
      ) : null}
    </details>
  );
}
