import { useQuery } from "@tanstack/react-query";
import { catalogVersionsQuery } from "../../api/queries";
import { schemaChanges } from "../../catalog/entry";
import { command } from "../../format/command";
import { counted } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";

/** Each schema that a table had, the newest first, with what it has otherwise than the one before. */
export function SchemaVersions({ name }: { name: string }) {
  const query = useQuery(catalogVersionsQuery(name));
  return (
    <section className="panel" aria-label="Schema versions">
      <h2>Schema versions</h2>
      <Fetched query={query} what="the schema versions">
        {(versions) => (
          <div className="flush">
            <Table
              caption="Schema versions"
              rows={versions.map((one, at) => ({ ...one, before: versions[at + 1]?.columns ?? null }))}
              rowKey={(one) => String(one.number)}
              columns={[
                { key: "number", label: "version", head: "Version", number: true, cell: (one) => one.number },
                { key: "at", label: "since", head: "Since", cell: (one) => <Age ms={one.at} absolute /> },
                { key: "by", label: "by", head: "By", cell: (one) => <span className="anywhere">{one.author}</span> },
                { key: "columns", label: "columns", head: "Columns", number: true, cell: (one) => one.columns.length },
                {
                  key: "changes",
                  label: "what changed",
                  head: "What changed",
                  cell: (one) => (
                    <div className="told">
                      {one.before === null ? `the first, with ${counted(one.columns.length, "column")}` : schemaChanges(one.before, one.columns).join("; ") || "the order"}
                    </div>
                  ),
                },
              ]}
            />
          </div>
        )}
      </Fetched>
      <CommandLine text={command(["catalog", "versions", name])} />
    </section>
  );
}
