import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { catalogQuery } from "../../api/queries";
import { databasesOf, entryPath, lastOf, type Database, type Entry } from "../../catalog/entry";
import { KindBadge } from "../../catalog/KindBadge";
import { counted } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Filter } from "../../parts/Filter";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";
import { Attached } from "./Attached";

/** What is in each database, as far as one may see it. */
export function Entries() {
  const [search, setSearch] = useSearchParams();
  const text = search.get("search") ?? "";
  const query = useQuery(catalogQuery(text));
  const change = (wanted: string) => setSearch(wanted ? new URLSearchParams({ search: wanted }) : new URLSearchParams(), { replace: true });
  return (
    <>
      <Fetched query={query} what="the catalog">
        {(found) =>
          found.length === 0 && text === "" ? (
            <Nothing />
          ) : (
            <section className="panel" aria-label="Entries">
              <div className="filters">
                <Filter label="Names, descriptions, columns" value={text} change={change} />
                <span className="dim small" role="status">
                  {counted(found.length, "entry", "entries")}
                </span>
              </div>
              {found.length === 0 ? (
                <Empty title={`Nothing that you may see has "${text}" in its name, description or columns`}>
                  <Button act={() => change("")}>Show every entry</Button>
                </Empty>
              ) : (
                <ul className="tree" aria-label="Databases">
                  {databasesOf(found).map((one) => (
                    <InDatabase key={one.name} database={one} />
                  ))}
                </ul>
              )}
              <CommandLine text="anabranch catalog list" />
            </section>
          )
        }
      </Fetched>
      <Attached />
    </>
  );
}

const Nothing = () => (
  <div className="panel">
    <Empty title="There is nothing in the catalog that you may see">
      <p className="dim">
        Whoever has a privilege on an entry sees it: ask its owner, or an admin, for a grant. An admin begins with a database:
      </p>
      <p className="row">
        <Link className="button" href="/catalog/define">
          Define one
        </Link>
        <Link href="/catalog/import">Import topics of a cluster</Link>
      </p>
    </Empty>
  </div>
);

const InDatabase = ({ database: { name, entry, objects } }: { database: Database }) => (
  <li>
    <Folded
      open
      summary={
        <>
          {name.replace(/^spark_catalog\./, "")} <span className="dim small">{counted(objects.length, "object")}</span>
        </>
      }
    >
      {() => (
        <div className="stack">
          <p className="small">
            {entry === null ? (
              <span className="dim">You may see something in it, and not the database itself.</span>
            ) : (
              <>
                {entry.description ? `${entry.description}. ` : ""}
                <Link href={entryPath(entry.name)}>Look at the database</Link>
              </>
            )}
          </p>
          {objects.length === 0 ? <p className="dim small">Nothing is in it that you may see.</p> : <Objects name={name} objects={objects} />}
        </div>
      )}
    </Folded>
  </li>
);

export const Objects = ({ name, objects }: { name: string; objects: readonly Entry[] }) => (
  <MoreRows rows={objects} what="objects">
    {(rows) => (
      <Table
        caption={`Objects of ${name}`}
        rows={rows}
        rowKey={(one) => one.name}
        columns={[
          {
            key: "name",
            label: "name",
            head: "Name",
            cell: (one) => (
              <Link href={entryPath(one.name)} className="strong anywhere">
                {lastOf(one.name)}
              </Link>
            ),
          },
          { key: "kind", label: "kind", head: "Kind", cell: (one) => <KindBadge kind={one.kind} /> },
          {
            key: "description",
            label: "description",
            head: "Description",
            cell: (one) => (one.description ? <div className="told">{one.description}</div> : null),
          },
          { key: "owner", label: "owner", head: "Owner", cell: (one) => <span className="anywhere">{one.owner}</span> },
          { key: "changed", label: "changed", head: "Changed", cell: (one) => <Age ms={one.changed_at} /> },
        ]}
      />
    )}
  </MoreRows>
);
