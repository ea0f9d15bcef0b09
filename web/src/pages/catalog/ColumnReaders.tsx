import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { columnLineageQuery } from "../../api/queries";
import { command } from "../../format/command";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { shortOf } from "../../streams/lineage";
import { streamPath } from "../../streams/stream";

type Answer = Schemas["ColumnLineageAnswer"];

/** Who reads a column of a table, and what breaks if it goes; which one is in the page's address. */
export function ColumnReaders({ table, columns }: { table: string; columns: readonly string[] }) {
  const [search, setSearch] = useSearchParams();
  const chosen = columns.find((one) => one === search.get("column")) ?? "";
  return (
    <section className="panel" aria-label="Who reads a column">
      <h2>Who reads a column</h2>
      <div className="filters">
        <select
          className="input"
          aria-label="Column"
          value={chosen}
          onChange={(event) => setSearch(event.target.value ? { column: event.target.value } : new URLSearchParams(), { replace: true })}
        >
          <option value="">choose one</option>
          {columns.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
      {chosen ? <Asked column={`${table}.${chosen}`} /> : <p className="dim">Of all streams that have told their lineage: who reads it, and what breaks if it goes.</p>}
    </section>
  );
}

function Asked({ column }: { column: string }) {
  const query = useQuery(columnLineageQuery(column));
  return (
    <Fetched query={query} what="the lineage">
      {(found) => (
        <div className="stack">
          {found.readers.length ? <Readers readers={found.readers} /> : <p className="strong">No stream that has told its lineage reads it.</p>}
          <Impact found={found} />
          <CommandLine text={command(["stream", "lineage"], [["--column", column], ["--impact", true]])} />
        </div>
      )}
    </Fetched>
  );
}

const Readers = ({ readers }: Pick<Answer, "readers">) => (
  <div className="flush">
    <Table
      caption="Readers"
      rows={readers}
      rowKey={({ stream, target }) => `${stream} ${target}`}
      columns={[
        {
          key: "stream",
          label: "stream",
          head: "Stream",
          cell: ({ stream }) => (
            <Link href={streamPath(stream, "lineage")} className="strong anywhere">
              {stream}
            </Link>
          ),
        },
        { key: "target", label: "writes", head: "Writes", cell: ({ target }) => <span className="anywhere">{shortOf(target)}</span> },
        { key: "columns", label: "columns", head: "Columns", cell: (one) => <span className="anywhere">{made(one)}</span> },
        { key: "kinds", label: "how", head: "How", cell: ({ kinds }) => kinds.map((one) => one.replaceAll("_", " ")).join(", ") || "named alone" },
      ]}
    />
  </div>
);

const made = ({ columns, is_for_rows: isForRows }: Answer["readers"][number]): string =>
  [...columns, ...(isForRows ? ["which rows there are"] : [])].join(", ");

/** Columns that are made of it go with it; those that it decides on get other values. */
function Impact({ found: { streams, lost, changed, uncertain, unknown } }: { found: Answer }) {
  const facts: readonly (readonly [string, readonly string[]])[] = [
    ["columns that are made of it", lost.map(shortOf)],
    ["columns that it decides on", changed.map(shortOf)],
    ["streams of which parts are not understood", uncertain],
    ["streams that have told no lineage yet", unknown],
  ];
  return (
    <>
      <p>
        {streams.length === 0 ? (
          "No stream breaks without it."
        ) : (
          <>
            <strong>Without it break:</strong>{" "}
            {streams.map((one, at) => (
              <span key={one}>
                {at ? ", " : ""}
                <Link href={streamPath(one)}>{one}</Link>
              </span>
            ))}
          </>
        )}
      </p>
      <Facts facts={facts.filter(([, names]) => names.length > 0).map(([what, names]) => [what, <span key={what} className="anywhere">{names.join(", ")}</span>] as const)} />
    </>
  );
}
