import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { lineageQuery } from "../../api/queries";
import { counted } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Button } from "../../parts/Button";
import { Fetched } from "../../parts/Fetched";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { Shape } from "../../parts/Shape";
import { Table } from "../../parts/Table";
import { edgesOf, relatedTo, shortOf, sourceKey, targetKey, type Lineage, type LineageEdge } from "../../streams/lineage";
import { LineageGraph } from "../../streams/LineageGraph";
import { NotOfPySpark } from "../../streams/NotOfPySpark";
import type { TabProps } from "./StreamPage";

/** Which columns of which tables make which columns of what a stream writes. */
export const LineageTab = ({ answer }: TabProps) =>
  answer.stream.kind === "pyspark" ? (
    <NotOfPySpark what="lineage" why="Its code may read and write what no plan of Spark shows." />
  ) : (
    <OfScript answer={answer} />
  );

function OfScript({ answer: { stream } }: TabProps) {
  const [search] = useSearchParams();
  const version = Number(search.get("version")) || null;
  const query = useQuery(lineageQuery(stream.name, version));
  return (
    <Fetched query={query} what="the lineage">
      {(found) => <Shown lineage={found} />}
    </Fetched>
  );
}

function Shown({ lineage }: { lineage: Lineage }) {
  const [chosen, setChosen] = useState("");
  const edges = edgesOf(lineage);
  const related = chosen === "" ? null : relatedTo(chosen, edges);
  const rows = related === null ? edges : edges.filter((edge) => related.has(sourceKey(edge)) && related.has(targetKey(edge)));
  const unclear = lineage.inserts.flatMap((one) => one.not_understood.map((what) => `${shortOf(one.target)}: ${what}`));
  return (
    <section className="panel" aria-label="Lineage">
      <div className="row">
        <h2>Lineage of version {lineage.version}</h2>
        <span className="dim small">
          told <Age ms={lineage.told_at_ms} />; choose a column to see what it is made of, and what is made of it
        </span>
        {chosen === "" ? null : (
          <span className="end">
            <Button little act={() => setChosen("")}>
              Show all
            </Button>
          </span>
        )}
      </div>
      <LineageGraph lineage={lineage} chosen={chosen} choose={setChosen} />
      {lineage.functions.length ? (
        <p className="dim small">It calls {lineage.functions.map((one) => `${one.function} of artifact ${one.artifact}`).join(", ")}.</p>
      ) : null}
      {unclear.length ? (
        <div className="notice warn">
          <div className="notice-title">
            <Shape name="triangle" size={12} />
            <span>There may be too many lines: parts are not understood</span>
          </div>
          <ul>
            {unclear.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      ) : null}
      <Folded summary={`The same as a table: ${counted(rows.length, "line")}`}>{() => <Edges edges={rows} />}</Folded>
    </section>
  );
}

const Edges = ({ edges }: { edges: readonly LineageEdge[] }) => (
  <MoreRows rows={edges} what="lines">
    {(rows) => (
      <Table
        caption="Lineage"
        rows={rows}
        rowKey={(_, at) => String(at)}
        columns={[
          { key: "from", label: "from", head: "From", cell: (one) => <span className="anywhere">{[`${shortOf(one.source_table)}.${one.source_column}`, ...one.path].join(".")}</span> },
          { key: "kind", label: "how", head: "How", cell: (one) => one.kind.replaceAll("_", " ") },
          {
            key: "to",
            label: "to",
            head: "To",
            cell: (one) => (
              <span className="anywhere">
                {one.target_column === null ? `which rows ${shortOf(one.target_table)} gets` : `${shortOf(one.target_table)}.${one.target_column}`}
              </span>
            ),
          },
        ]}
      />
    )}
  </MoreRows>
);
