import { sentence } from "../parts/ProblemNotice";
import { Badge, type Tone } from "../parts/Badge";
import { MoreRows } from "../parts/MoreRows";
import type { ShapeName } from "../parts/Shape";
import { Table } from "../parts/Table";
import { differencesWords, tableDifferences, type Difference } from "./words";
import type { RouteTable } from "./table";

const LOOK: Record<Difference["change"], readonly [Tone, ShapeName]> = {
  new: ["ok", "play"],
  gone: ["bad", "cross"],
  changed: ["busy", "half"],
};

interface Props {
  before: RouteTable;
  after: RouteTable;
  /** What the two columns are called. */
  heads: readonly [string, string];
  /** What is said where both are the same. */
  same: string;
}

/** What one route table has otherwise than another, each part in words. */
export function Differences({ before, after, heads, same }: Props) {
  const found = tableDifferences(before, after);
  if (found.length === 0) return <p>{same}</p>;
  return (
    <div className="stack">
      <p className="strong">{sentence(differencesWords(found))}</p>
      <MoreRows rows={found} what="differences">
        {(rows) => (
          <Table
            caption="Differences"
            rows={rows}
            rowKey={(one) => `${one.what} ${one.part}`}
            columns={[
              { key: "what", label: "what", head: "What", cell: (one) => <strong className="anywhere">{one.what}</strong> },
              {
                key: "change",
                label: "change",
                head: "Change",
                cell: (one) => (
                  <span className="row">
                    <Badge tone={LOOK[one.change][0]} shape={LOOK[one.change][1]}>
                      {one.change}
                    </Badge>
                    {one.part}
                  </span>
                ),
              },
              {
                key: "before",
                label: heads[0].toLowerCase(),
                head: heads[0],
                cell: (one) => <Part words={one.before} side="old" />,
              },
              {
                key: "after",
                label: heads[1].toLowerCase(),
                head: heads[1],
                cell: (one) => <Part words={one.after} side="new" />,
              },
            ]}
          />
        )}
      </MoreRows>
    </div>
  );
}

function Part({ words, side }: { words: string; side: "old" | "new" }) {
  if (words === "") return <span className="dim">none</span>;
  return <div className="told">{side === "old" ? <del className="change-old">{words}</del> : <ins className="change-new">{words}</ins>}</div>;
}
