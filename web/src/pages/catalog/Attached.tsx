import { useQuery } from "@tanstack/react-query";
import { attachedQuery } from "../../api/queries";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { MoreRows } from "../../parts/MoreRows";
import { ProblemOf } from "../../parts/ProblemNotice";
import { Table } from "../../parts/Table";
import { useWhyNotPlan } from "../../session/me";
import { isOver, problemOfTrial, useTrial } from "../../streams/trial";

/** The launcher whose settings are the service's. */
const OWN = "default";

/** Catalogs of Spark's own, and what they say that is in them once somebody asks. */
export function Attached() {
  const found = useQuery(attachedQuery).data ?? [];
  const { trial, rows, problem, isAsking, ask, stop } = useTrial();
  const why = useWhyNotPlan();
  const goesOn = isAsking || (trial !== null && !isOver(trial));
  if (found.length === 0) return null;
  const failed = problem ?? (trial === null ? null : problemOfTrial(trial));
  return (
    <section className="panel" aria-label="Attached catalogs">
      <div className="row">
        <h2>Attached catalogs</h2>
        <span className="dim small">Spark&apos;s own, by the service&apos;s file: {found.map((one) => (one.launcher === OWN ? one.name : `${one.name} (launcher ${one.launcher})`)).join(", ")}. The service keeps nothing of what is in them.</span>
        <span className="row end">
          {goesOn ? <Button act={stop}>Stop</Button> : null}
          {[...new Set(found.map((one) => one.launcher))].map((launcher) => (
            <Button
              key={launcher}
              why={why ?? (goesOn ? "they are asked already" : null)}
              act={() => ask({ kind: "tables", rows: 1000, launcher, fresh: trial !== null })}
            >
              {launcher === OWN ? "List their tables" : `List those of launcher ${launcher}`}
            </Button>
          ))}
        </span>
      </div>
      {failed === null ? null : <ProblemOf problem={failed} title="They were not listed" />}
      {goesOn ? (
        <p className="dim" role="status">
          {trial?.state === "waiting" ? "Waiting for its turn." : "Spark starts, and asks them."}
        </p>
      ) : null}
      {rows.length ? (
        <MoreRows rows={rows.map((row) => row.map(String))} what="tables">
          {(shown) => (
            <Table
              caption="Tables of attached catalogs"
              rows={shown}
              rowKey={(_, at) => String(at)}
              columns={["catalog", "database", "table", "problem"].map((label, at) => ({
                key: label,
                label,
                head: `${label.charAt(0).toUpperCase()}${label.slice(1)}`,
                cell: (row: readonly string[]) => <span className="anywhere">{row[at] || (at < 3 ? <span className="dim">none</span> : "")}</span>,
              }))}
            />
          )}
        </MoreRows>
      ) : null}
      {trial !== null && trial.state === "finished" && rows.length === 0 ? <p className="dim">Nothing is in them that you may see.</p> : null}
      <CommandLine text="anabranch catalog list --attached" />
    </section>
  );
}
