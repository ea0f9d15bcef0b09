import { useQuery } from "@tanstack/react-query";
import { catalogEntryQuery, catalogQuery } from "../../api/queries";
import { databaseOf, levelOf, type EntryFound } from "../../catalog/entry";
import { KindBadge } from "../../catalog/KindBadge";
import { SqlText } from "../../editor/SqlText";
import { command } from "../../format/command";
import { whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { ColumnReaders } from "./ColumnReaders";
import { GrantsOf } from "./GrantsTable";
import { Objects } from "./Entries";
import { SchemaVersions } from "./SchemaVersions";

/** One entry of the catalog: what it is, who may use it, and how it came to be so. */
export function EntryPage({ name }: { name: string }) {
  const query = useQuery(catalogEntryQuery(name));
  const entry = query.data;
  return (
    <Page
      title={entry ? entry.summary.short : name}
      crumbs={[["Catalog", "/catalog"]]}
      beside={entry ? <KindBadge kind={entry.summary.kind} /> : null}
      actions={entry ? <Actions entry={entry} /> : null}
      under={entry?.summary.description ? <p className="dim">{entry.summary.description}</p> : null}
    >
      <Fetched query={query} what="the entry">
        {(found) => (
          <>
            <About entry={found} />
            <Says entry={found} />
            <GrantsOf name={found.summary.name} mayManage={found.may.includes("manage")} />
            {found.summary.kind === "table" ? <ReadersOf entry={found} /> : null}
            {found.summary.kind === "table" ? <SchemaVersions name={found.summary.name} /> : null}
          </>
        )}
      </Fetched>
    </Page>
  );
}

function Actions({ entry: { summary, may, document } }: { entry: EntryFound }) {
  const { name, short, kind, owner, description } = summary;
  const why = may.includes("manage") ? null : `you may not manage it: ask ${owner} or an admin`;
  const body = { name, kind: kind === "database" ? "database" : "object" };
  return (
    <>
      <Action verb="catalog.grant" body={{ name, on: levelOf(name) }} title={`Grant a privilege on ${short}`} why={why} main={why === null}>
        Grant
      </Action>
      <Action verb="catalog.set" body={body} title={`Change ${short}`} why={why} given={{ description }}>
        Change
      </Action>
      <Action
        verb="catalog.drop"
        body={document["provider"] === "kafka" ? body : { ...body, topic: false }}
        title={`Drop ${short}`}
        why={why}
      >
        Drop
      </Action>
    </>
  );
}

const About = ({ entry }: { entry: EntryFound }) => {
  const { summary, may, author, created_at: created, revision } = entry;
  return (
    <section className="panel" aria-label="About it">
      <Facts
        facts={[
          ["full name", <code key="name">{summary.name}</code>],
          ["owner", summary.owner],
          ["you may", may.length ? may.join(", ") : "see it, and nothing else"],
          ["made", <Age key="made" ms={created} absolute />],
          ["changed", <span key="changed"><Age ms={summary.changed_at} absolute /> by {author}, revision {whole(revision)}</span>],
        ]}
      />
      <CommandLine text={command(["catalog", "show", summary.kind === "database" ? summary.name : summary.short])} />
    </section>
  );
};

interface TableDocument {
  provider: string;
  columns: readonly { name: string; type: string }[];
  options: Readonly<Record<string, string>>;
  comments: Readonly<Record<string, string>>;
}

/** What it says: columns and options of a table, the query of a view, the statement of a function, what is in a database. */
function Says({ entry: { summary, document } }: { entry: EntryFound }) {
  switch (summary.kind) {
    case "table":
      return <OfTable table={document as unknown as TableDocument} />;
    case "view":
      return <Sql title="Its query" text={String(document["query"] ?? "")} />;
    case "function":
      return <Sql title="Its statement" text={String(document["statement"] ?? "")} />;
    default:
      return <OfDatabase name={summary.name} />;
  }
}

const Sql = ({ title, text }: { title: string; text: string }) => (
  <section className="panel" aria-label={title}>
    <h2>{title}</h2>
    <SqlText text={text} label={`${title}, as SQL`} />
  </section>
);

const OfTable = ({ table: { provider, columns, options, comments } }: { table: TableDocument }) => (
  <div className="columns">
    <section className="panel" aria-label="Columns">
      <h2>Columns</h2>
      {columns.length === 0 ? (
        <p className="dim">None: it is schemaless, and has key, value, topic, partition, offset, timestamp and headers.</p>
      ) : (
        <div className="flush">
          <Table
            caption="Columns"
            rows={columns}
            rowKey={(one) => one.name}
            columns={[
              { key: "name", label: "column", head: "Column", cell: (one) => <strong className="anywhere">{one.name}</strong> },
              { key: "type", label: "type", head: "Type", cell: (one) => <code className="anywhere">{one.type}</code> },
              { key: "comment", label: "comment", head: "Comment", cell: (one) => comments[one.name] ?? null },
            ]}
          />
        </div>
      )}
    </section>
    <section className="panel" aria-label="Options">
      <h2>Options</h2>
      <Facts
        facts={[
          ["connector", provider],
          ...Object.entries(options).map(([name, value]) => [name, <code key={name}>{value}</code>] as const),
        ]}
      />
    </section>
  </div>
);

function ReadersOf({ entry: { summary, document } }: { entry: EntryFound }) {
  const columns = (document as unknown as TableDocument).columns.map(({ name }) => name);
  return columns.length ? <ColumnReaders table={summary.short} columns={columns} /> : null;
}

function OfDatabase({ name }: { name: string }) {
  const query = useQuery(catalogQuery(""));
  return (
    <section className="panel" aria-label="What is in it">
      <h2>What is in it</h2>
      <Fetched query={query} what="the catalog">
        {(found) => {
          const objects = found.filter((one) => one.kind !== "database" && databaseOf(one) === name);
          return objects.length ? <Objects name={name} objects={objects} /> : <p className="dim">Nothing that you may see.</p>;
        }}
      </Fetched>
    </section>
  );
}
