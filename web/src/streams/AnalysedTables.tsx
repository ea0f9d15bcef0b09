import type { Schemas } from "../api/client";
import { counted } from "../format/numbers";
import { Table } from "../parts/Table";

/** What Spark says that a script is: the queries that a start would begin, and the SELECTs that can be looked at. */
export const AnalysedTables = ({ analysed: { statements, selects, inserts } }: { analysed: Schemas["AnalysedAnswer"] }) => (
  <div className="stack">
    <p className="dim small">
      {counted(statements.length, "statement")}: {counted(inserts.length, "query", "queries")} for a start, and {counted(selects.length, "statement")} whose rows can be shown.
    </p>
    {inserts.length ? <Queries queries={inserts} /> : null}
    {selects.length ? (
      <Table
        caption="Statements that have rows"
        rows={selects}
        rowKey={(one) => String(one.number)}
        columns={[
          { key: "number", label: "statement", head: "Statement", number: true, cell: (one) => one.number },
          { key: "line", label: "line", head: "Line", number: true, cell: (one) => one.line },
          { key: "columns", label: "columns", head: "Columns", cell: (one) => <ColumnsOf columns={one.columns} /> },
        ]}
      />
    ) : null}
  </div>
);

interface Query {
  query: string;
  line: number;
  table: string;
  connector: string;
  mode: string;
  columns: readonly { name: string; type: string }[];
}

/** Each INSERT as a query of its own. */
export const Queries = ({ queries }: { queries: readonly Query[] }) => (
  <Table
    caption="Queries that a start begins"
    rows={queries}
    rowKey={(one) => one.query}
    columns={[
      { key: "query", label: "query", head: "Query", cell: (one) => <strong className="anywhere">{one.query}</strong> },
      { key: "line", label: "line", head: "Line", number: true, cell: (one) => one.line },
      { key: "connector", label: "writes", head: "Writes", cell: (one) => `${one.table} (${one.connector})` },
      { key: "mode", label: "mode", head: "Mode", cell: (one) => one.mode },
      { key: "columns", label: "columns", head: "Columns", cell: (one) => <ColumnsOf columns={one.columns} /> },
    ]}
  />
);

const ColumnsOf = ({ columns }: { columns: readonly { name: string; type: string }[] }) => (
  <span className="small anywhere">{columns.map(({ name, type }) => `${name} ${type}`).join(", ")}</span>
);
