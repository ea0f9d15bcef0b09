import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import type { LanesAsked } from "../../api/queries";
import { perSecond, rate, seconds, whole } from "../../format/numbers";
import { Sort } from "../../parts/Sort";
import { LaneStateBadge } from "../../parts/states";
import { lanePath } from "./path";
import type { LanePages } from "./useLanePages";

const ROW = 32;
type Order = Schemas["LaneOrder"];

interface HeadSpec {
  label: string;
  order?: Order;
  number?: boolean;
}

const HEADS: readonly HeadSpec[] = [
  { label: "Lane", order: "source" },
  { label: "State", order: "state" },
  { label: "Mode" },
  { label: "Position", number: true },
  { label: "Lag", order: "lag_records", number: true },
  { label: "Behind", order: "lag_seconds", number: true },
  { label: "Records", order: "records_per_s", number: true },
  { label: "Bytes", order: "bytes_per_s", number: true },
  { label: "Target, or why it waits", order: "target" },
];

interface Props {
  target: string;
  link: string;
  asked: LanesAsked;
  change: (wanted: Partial<LanesAsked>) => void;
  pages: LanePages;
}

/** Only the rows in sight are drawn; where they are scrolled to stays as their figures change. */
export function LanesTable({ target, link, asked, change, pages }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const count = pages.matching ?? 0;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
    scrollMargin: ROW,
  });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items[items.length - 1]?.index ?? 0;
  const { see } = pages;
  useEffect(() => see(first, last), [see, first, last]);
  const chosen = `${asked.text} ${asked.state.join()} ${asked.mode} ${asked.sort} ${asked.descending}`;
  const before = useRef(chosen);
  useEffect(() => {
    if (before.current === chosen) return;
    before.current = chosen;
    box.current?.scrollTo({ top: 0 });
  }, [chosen]);
  const choose = (order: Order) =>
    change({
      sort: order,
      descending: order === asked.sort ? !asked.descending : order !== "source" && order !== "target" && order !== "state",
    });
  return (
    <div className="lanes" ref={box} tabIndex={0} role="region" aria-label="Lanes, scrolls">
      <div
        className="lanes-inner"
        role="table"
        aria-label={`Lanes of ${link}`}
        aria-rowcount={count + 1}
        aria-colcount={HEADS.length}
      >
        <div role="rowgroup" className="lane-head">
          <div className="lane-row" role="row" aria-rowindex={1}>
            {HEADS.map(({ label, order, number }) => (
              <div
                key={label}
                role="columnheader"
                className={number ? "number" : ""}
                aria-sort={order === asked.sort ? (asked.descending ? "descending" : "ascending") : undefined}
              >
                {order === undefined ? (
                  label
                ) : (
                  <Sort
                    label={label}
                    active={order === asked.sort}
                    descending={asked.descending}
                    choose={() => choose(order)}
                  />
                )}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="lanes-body" style={{ height: count * ROW }}>
          {items.map((item) => (
            <div
              key={item.key}
              role="row"
              aria-rowindex={item.index + 2}
              className="lane-row moving"
              style={{ transform: `translateY(${item.start - ROW}px)` }}
            >
              <Cells target={target} link={link} lane={pages.lane(item.index)} />
            </div>
          ))}
        </div>
      </div>
      {pages.matching === 0 ? <p className="empty">No lane is as the filter wants it: take it away, or change it.</p> : null}
    </div>
  );
}

interface CellsProps {
  target: string;
  link: string;
  lane: Schemas["LaneProgress"] | undefined;
}

function Cells({ target, link, lane }: CellsProps) {
  if (lane === undefined) return HEADS.map(({ label }) => <div key={label} role="cell" />);
  const why = lane.stop_reason;
  return (
    <>
      <div role="cell" title={lane.source}>
        <Link href={lanePath(target, link, lane.source)}>{lane.source}</Link>
      </div>
      <div role="cell">
        <LaneStateBadge state={lane.state} />
      </div>
      <div role="cell" title={lane.mode_reason}>
        {lane.mode}
      </div>
      <div role="cell" className="number">
        {whole(lane.position)}
      </div>
      <div role="cell" className="number">
        {whole(lane.lag_records)}
      </div>
      <div role="cell" className="number">
        {seconds(lane.lag_seconds)}
      </div>
      <div role="cell" className="number">
        {perSecond(lane.records_per_s)}
      </div>
      <div role="cell" className="number">
        {rate(lane.bytes_per_s)}
      </div>
      <div role="cell" className={why ? "old" : "dim"} title={why ?? lane.target}>
        {why ?? lane.target}
      </div>
    </>
  );
}
