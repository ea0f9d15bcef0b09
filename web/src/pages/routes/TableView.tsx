import { useState } from "react";
import { Link } from "wouter";
import { counted, whole } from "../../format/numbers";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { Filter } from "../../parts/Filter";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";
import { tableOf, type Code, type Reached, type RouteTable, type Rule } from "../../routes/table";
import { endOf, leadsTo, matchWords } from "../../routes/words";

/** Codes and rules of a table, the rules in the order in which they decide. */
export function TableView({ fields }: { fields: unknown }) {
  const [text, setText] = useState("");
  const table = tableOf(fields);
  const has = (...words: readonly string[]) => words.some((one) => one.toLowerCase().includes(text.toLowerCase()));
  const codes = table.codes.filter(({ name, to, description }) => has(name, leadsTo(to), description));
  const rules = table.rules.filter((rule) => has(rule.name, matchWords(rule), leadsTo(rule.to)));
  const isEmpty = codes.length + rules.length === 0 && text !== "";
  return (
    <>
      <section className="panel" aria-label="Codes">
        <div className="row">
          <h2>Codes</h2>
          <span className="dim">{counted(table.codes.length, "code")}; each leads there unless a rule matches</span>
        </div>
        <div className="filters">
          <Filter label="Filter codes and rules" value={text} change={setText} />
        </div>
        {isEmpty ? (
          <Empty title={`No code and no rule has "${text}" in it`}>
            <Button act={() => setText("")}>Show all of them</Button>
          </Empty>
        ) : codes.length === 0 ? null : (
          <Codes codes={codes} table={table} />
        )}
      </section>
      <section className="panel" aria-label="Rules">
        <div className="row">
          <h2>Rules</h2>
          <span className="dim">
            {table.rules.length === 0
              ? "none: the code alone says where a client is led"
              : `${counted(table.rules.length, "rule")}; of those that match a client the first one decides`}
          </span>
        </div>
        {rules.length === 0 ? null : <Rules rules={rules} />}
      </section>
      {table.clusters.length ? <Clusters clusters={table.clusters} /> : null}
    </>
  );
}

const Told = ({ text }: { text: string }) => (text === "" ? null : <div className="told">{text}</div>);

const Codes = ({ codes, table }: { codes: readonly Code[]; table: RouteTable }) => (
  <MoreRows rows={codes} what="codes">
    {(rows) => (
      <div className="flush">
        <Table
          caption="Codes"
          rows={rows}
          rowKey={(code) => code.name}
          columns={[
            { key: "code", label: "code", head: "Code", cell: (code) => <strong className="anywhere">{code.name}</strong> },
            { key: "leads", label: "leads to", head: "Leads to", cell: (code) => <Told text={leadsTo(code.to)} /> },
            { key: "cluster", label: "cluster", head: "Cluster", cell: (code) => endOf(table, code.name) || <span className="dim">none</span> },
            { key: "about", label: "description", head: "Description", cell: (code) => <Told text={code.description} /> },
            {
              key: "who",
              label: "who names it",
              head: <span className="hidden">Who names it</span>,
              cell: (code) => (
                <Link href={`/applications?${new URLSearchParams({ code: code.name }).toString()}`}>
                  applications <span className="hidden">with code {code.name}</span>
                </Link>
              ),
            },
          ]}
        />
      </div>
    )}
  </MoreRows>
);

const Rules = ({ rules }: { rules: readonly Rule[] }) => (
  <MoreRows rows={rules} what="rules">
    {(rows) => (
      <div className="flush">
        <Table
          caption="Rules, the highest priority first"
          rows={rows}
          rowKey={(rule) => rule.name}
          columns={[
            { key: "priority", label: "priority", head: "Priority", number: true, cell: (rule) => whole(rule.priority) },
            { key: "rule", label: "rule", head: "Rule", cell: (rule) => <strong className="anywhere">{rule.name}</strong> },
            { key: "matches", label: "matches", head: "Matches", cell: (rule) => <Told text={matchWords(rule)} /> },
            { key: "leads", label: "leads to", head: "Leads to", cell: (rule) => <Told text={leadsTo(rule.to)} /> },
          ]}
        />
      </div>
    )}
  </MoreRows>
);

const Clusters = ({ clusters }: { clusters: readonly Reached[] }) => (
  <section className="panel" aria-label="How applications reach clusters">
    <h2>How applications reach clusters</h2>
    <p className="dim">For a cluster that is not here they get the service&#8217;s own context.</p>
    <div className="flush">
      <Table
        caption="How applications reach clusters"
        rows={clusters}
        rowKey={(cluster) => cluster.name}
        columns={[
          { key: "cluster", label: "cluster", head: "Cluster", cell: (cluster) => <strong className="anywhere">{cluster.name}</strong> },
          { key: "at", label: "addresses", head: "Addresses", cell: (cluster) => <Told text={cluster.bootstrap.join(", ")} /> },
          { key: "security", label: "security", head: "Security", cell: (cluster) => <Told text={cluster.security.join(", ")} /> },
        ]}
      />
    </div>
  </section>
);
