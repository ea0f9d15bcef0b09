import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import type { Schemas } from "../../api/client";
import { whole } from "../../format/numbers";
import { mapParts } from "./parts";

const ROW = 30;

/** Every range and gap of a lane, however many there are. */
export function MapTable({ map }: { map: Schemas["LaneRanges"] }) {
  const box = useRef<HTMLDivElement>(null);
  const parts = useMemo(() => mapParts(map), [map]);
  const rows = useVirtualizer({
    count: parts.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 10,
    scrollMargin: ROW,
  });
  return (
    <div className="map-table" ref={box} tabIndex={0} role="region" aria-label="Ranges and gaps, scrolls">
      <div role="table" aria-label="Ranges and gaps" aria-rowcount={parts.length + 1} className="map-inner">
        <div role="rowgroup" className="lane-head">
          <div role="row" className="map-row" aria-rowindex={1}>
            <div role="columnheader">What</div>
            <div role="columnheader" className="number">
              Source
            </div>
            <div role="columnheader" className="number">
              To before
            </div>
            <div role="columnheader" className="number">
              Target
            </div>
            <div role="columnheader" className="number">
              Offsets
            </div>
          </div>
        </div>
        <div role="rowgroup" className="lanes-body" style={{ height: parts.length * ROW }}>
          {rows.getVirtualItems().map((item) => {
            const part = parts[item.index];
            return part === undefined ? null : (
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                className="map-row moving"
                style={{ transform: `translateY(${item.start - ROW}px)` }}
              >
                <div role="cell">{part.kind === "gap" ? <span className="old">gap</span> : "range"}</div>
                <div role="cell" className="number">
                  {whole(part.source)}
                </div>
                <div role="cell" className="number">
                  {whole(part.source + part.length)}
                </div>
                <div role="cell" className="number">
                  {part.target === null ? <span className="dim">none</span> : whole(part.target)}
                </div>
                <div role="cell" className="number">
                  {whole(part.length)}
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
