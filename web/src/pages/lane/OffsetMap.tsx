import type { Schemas } from "../../api/client";
import { counted, whole } from "../../format/numbers";
import { drawable, mapParts } from "./parts";

const WIDTH = 1000;
const SOURCE = 6;
const TARGET = 76;
const THICK = 14;

/** Both logs as bars, and which range of one became which of the other; gaps are marked on the source alone. */
export function OffsetMap({ map }: { map: Schemas["LaneRanges"] }) {
  const parts = mapParts(map);
  const drawn = drawable(parts);
  const first = Math.min(map.source_start, map.target_start);
  const last = Math.max(map.source_end, map.target_end, first + 1);
  const x = (offset: number) => ((offset - first) / (last - first)) * WIDTH;
  const gaps = parts.filter((part) => part.kind === "gap");
  const summary =
    `source ${map.source} ${whole(map.source_start)} to ${whole(map.source_end)}, ` +
    `target ${map.target} ${whole(map.target_start)} to ${whole(map.target_end)}, ` +
    `${counted(map.ranges.length, "mapped range")}, ${counted(gaps.length, "gap")}`;
  return (
    <figure>
      <Ends name={map.source} from={map.source_start} to={map.source_end} />
      <svg className="map" viewBox={`0 0 ${WIDTH} 96`} preserveAspectRatio="none" role="img" aria-label={summary}>
        <rect className="axis" x={x(map.source_start)} y={SOURCE} width={width(x, map.source_start, map.source_end)} height={THICK} vectorEffect="non-scaling-stroke" />
        <rect className="axis" x={x(map.target_start)} y={TARGET} width={width(x, map.target_start, map.target_end)} height={THICK} vectorEffect="non-scaling-stroke" />
        {drawn.map((part) => {
          const left = x(part.source);
          const right = Math.max(x(part.source + part.length), left + 1);
          if (part.target === null) {
            return <rect key={part.source} className="gap" x={left} y={SOURCE - 4} width={right - left} height={THICK + 8} />;
          }
          const below = x(part.target);
          const end = Math.max(x(part.target + part.length), below + 1);
          return (
            <g key={part.source}>
              <rect className="range" x={left} y={SOURCE} width={right - left} height={THICK} />
              <rect className="range" x={below} y={TARGET} width={end - below} height={THICK} />
              <path className="between" d={`M${left} ${SOURCE + THICK}H${right}L${end} ${TARGET}H${below}Z`} />
            </g>
          );
        })}
      </svg>
      <Ends name={map.target} from={map.target_start} to={map.target_end} />
      <figcaption className="small dim">
        <i className="swatch range" />
        {counted(map.ranges.length, "mapped range")}, <i className="swatch gap" />
        {counted(gaps.length, "gap")} on the source. Both logs are drawn on the same scale.
        {drawn.length < parts.length ? ` The ${whole(drawn.length)} largest of ${whole(parts.length)} parts are drawn.` : ""}
      </figcaption>
    </figure>
  );
}

const width = (x: (offset: number) => number, from: number, to: number): number => Math.max(x(to) - x(from), 1);

const Ends = ({ name, from, to }: { name: string; from: number; to: number }) => (
  <div className="map-ends">
    <span>
      <strong>{name}</strong> from {whole(from)}
    </span>
    <span>to before {whole(to)}</span>
  </div>
);
