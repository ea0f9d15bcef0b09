import { useQuery } from "@tanstack/react-query";
import { streamAlertsQuery } from "../../api/queries";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { AlertBadge } from "../../parts/states";
import { Table } from "../../parts/Table";
import { inOrder, type StreamAlerts } from "../../streams/alerts";
import { AlertRulesForm } from "./AlertRulesForm";
import type { TabProps } from "./StreamPage";

/** The alerts of a stream. */
export const Alerts = ({ answer: { stream } }: TabProps) => <AlertsOf name={stream.name} target="" />;

/** The alerts of a stream, or of the link to a target: how they stand, who is told, and the rules, which are changed by a plan. */
export function AlertsOf({ name, target }: { name: string; target: string }) {
  const query = useQuery(streamAlertsQuery(name, target));
  return (
    <Fetched query={query} what="the alerts">
      {(found) => (
        <>
          <Standing found={found} />
          <AlertRulesForm key={JSON.stringify([found.rules, found.receivers])} found={found} />
        </>
      )}
    </Fetched>
  );
}

const Standing = ({ found }: { found: StreamAlerts }) => (
  <section className="panel" aria-label="How they stand">
    <h2>How they stand</h2>
    {found.alerts.length === 0 ? (
      <Empty title="No condition of an alert was true yet">
        <p className="dim">Each rule below is looked at every five seconds, by the instance that acts.</p>
      </Empty>
    ) : (
      <Table
        caption="Alerts"
        rows={inOrder(found.alerts)}
        rowKey={(one) => `${one.kind} ${one.query}`}
        columns={[
          { key: "state", label: "state", head: "State", cell: (one) => <AlertBadge state={one.state} /> },
          { key: "alert", label: "alert", head: "Alert", cell: (one) => one.kind },
          { key: "query", label: "query", head: "Query", cell: (one) => one.query || <span className="dim">{found.target ? "the link" : "the stream"}</span> },
          { key: "since", label: "since", head: "Since", cell: (one) => <Age ms={one.since_ms} absolute /> },
          { key: "words", label: "what was seen", head: "What was seen", cell: (one) => <div className="told small">{one.words}</div> },
        ]}
      />
    )}
    <p className="dim small">
      {found.receivers.length ? `Told to ${found.receivers.join(", ")}.` : "Nobody is told: the service's file has no receiver, or none is chosen here."}
    </p>
    <CommandLine text={command(["stream", "alerts", found.stream, ...(found.target ? ["--target", found.target] : [])])} />
  </section>
);
