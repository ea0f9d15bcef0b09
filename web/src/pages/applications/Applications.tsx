import { useQuery } from "@tanstack/react-query";
import { CLIENTS, clientsQuery, type ClientsAsked } from "../../api/queries";
import type { Schemas } from "../../api/client";
import { command } from "../../format/command";
import { counted, whole } from "../../format/numbers";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Filter } from "../../parts/Filter";
import { Page } from "../../parts/Page";
import { Pager } from "../../parts/Pager";
import { SwitchHint } from "../../routes/SwitchHint";
import { ClientsTable } from "./ClientsTable";
import { NoClients } from "./NoClients";
import { isFiltered, NAMES, useClientsAsked } from "./useClientsAsked";

const NOBODY: ClientsAsked = { code: "", group: "", cluster: "", application: "", role: "", behind: false, offset: 0 };

/** Registered clients: who is where, and who lags behind a change. */
export function Applications() {
  const [asked, change] = useClientsAsked();
  const query = useQuery(clientsQuery(asked));
  return (
    <Page
      title="Applications"
      under={<p className="dim">Clients that name a cluster code: where each is led, how far it is, and who does not follow a change yet.</p>}
    >
      <SwitchHint />
      <Fetched query={query} what="the clients">
        {(page) => (page.total === 0 ? <NoClients /> : <Shown page={page} asked={asked} change={change} />)}
      </Fetched>
    </Page>
  );
}

interface ShownProps {
  page: Schemas["ClientsPage"];
  asked: ClientsAsked;
  change: (change: Partial<ClientsAsked>) => void;
}

const Shown = ({ page, asked, change }: ShownProps) => (
  <section className="panel" aria-label="Clients">
    <Filters asked={asked} change={change} />
    {page.matching === 0 ? (
      <Empty title="No client is as the filter wants it">
        <p className="dim">
          {counted(page.total, "client")} registered. Code, group, cluster and application are matched whole.
        </p>
        <Button act={() => change(NOBODY)}>Show every client</Button>
      </Empty>
    ) : page.clients.length === 0 ? (
      <Empty title="There are not as many clients any more">
        <Button act={() => change({ offset: 0 })}>Show the first page</Button>
      </Empty>
    ) : (
      <>
        <div className="flush">
          <ClientsTable clients={page.clients} />
        </div>
        <Pager count={page.matching} size={CLIENTS} offset={page.offset} what="clients" go={(offset) => change({ offset })} />
        {isFiltered(asked) ? <p className="dim small">{whole(page.total)} are registered.</p> : null}
      </>
    )}
    <CommandLine
      text={command(
        ["route", "clients"],
        [
          ["--code", asked.code],
          ["--group", asked.group],
          ["--cluster", asked.cluster],
          ["--application", asked.application],
          ["--role", asked.role],
          ["--behind", asked.behind],
          ["--offset", asked.offset || null],
        ],
      )}
    />
  </section>
);

const LABELS: Record<(typeof NAMES)[number], string> = { code: "Code", group: "Group", cluster: "Cluster", application: "Application" };

const Filters = ({ asked, change }: Omit<ShownProps, "page">) => (
  <div className="filters">
    {NAMES.map((name) => (
      <Filter key={name} label={LABELS[name]} value={asked[name]} change={(value) => change({ [name]: value })} />
    ))}
    <select
      className="input"
      aria-label="Role"
      value={asked.role}
      onChange={(event) => change({ role: event.target.value as ClientsAsked["role"] })}
    >
      <option value="">every role</option>
      <option value="consumer">consumers</option>
      <option value="producer">producers</option>
    </select>
    <label className="check">
      <input type="checkbox" checked={asked.behind} onChange={(event) => change({ behind: event.target.checked })} />
      behind a change
    </label>
  </div>
);
