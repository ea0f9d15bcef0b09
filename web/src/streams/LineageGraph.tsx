import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import { edgesOf, keyOf, relatedTo, ROWS, shortOf, sourceKey, tablesOf, targetKey, type Lineage, type LineageTable } from "./lineage";

interface Line {
  from: string;
  to: string;
  path: string;
  isRows: boolean;
}

/** Tables in layers with their columns, and a line from each column to what is made of it; one that is chosen stands out with all that belongs to it. */
export function LineageGraph({ lineage, chosen, choose }: { lineage: Lineage; chosen: string; choose: (key: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const tables = tablesOf(lineage);
  const layers = [...new Set(tables.map((one) => one.layer))].sort((a, b) => a - b);
  const { lines, width, height } = useLines(box, lineage);
  const related = chosen === "" ? null : relatedTo(chosen, edgesOf(lineage));
  return (
    <div className="scroll lineage-scroll" tabIndex={0} role="region" aria-label="Lineage, as a graph">
      <div className="lineage" ref={box}>
        <svg width={width} height={height} aria-hidden="true">
          {lines.map((line) => {
            const isLit = related !== null && related.has(line.from) && related.has(line.to);
            return <path key={`${line.from} ${line.to}`} d={line.path} className={`${line.isRows ? "decides" : ""}${isLit ? " lit" : related === null ? "" : " faded"}`} />;
          })}
        </svg>
        {layers.map((layer) => (
          <ul key={layer} className="layer" aria-label={layer === 0 ? "Sources" : `Layer ${layer}`}>
            {tables
              .filter((one) => one.layer === layer)
              .map((one) => (
                <TableBox key={one.name} table={one} chosen={chosen} related={related} choose={choose} />
              ))}
          </ul>
        ))}
      </div>
    </div>
  );
}

interface BoxProps {
  table: LineageTable;
  chosen: string;
  related: ReadonlySet<string> | null;
  choose: (key: string) => void;
}

const TableBox = ({ table: { name, columns, isHidden }, chosen, related, choose }: BoxProps) => (
  <li className="lineage-table">
    <p className="strong anywhere">{shortOf(name)}</p>
    {isHidden ? <p className="small dim">its columns are not shown to you</p> : null}
    {columns.map((column) => {
      const key = keyOf(name, column);
      return (
        <button
          key={column}
          type="button"
          data-key={key}
          className={`lineage-column${related?.has(key) ? " lit" : ""}${column === ROWS ? " decides" : ""}`}
          aria-pressed={chosen === key}
          onClick={() => choose(chosen === key ? "" : key)}
        >
          {column === ROWS ? "which rows there are" : column}
          <span className="hidden"> of {shortOf(name)}</span>
        </button>
      );
    })}
  </li>
);

/** Where the lines are, from where the columns have come to stand. */
function useLines(box: RefObject<HTMLDivElement | null>, lineage: Lineage): { lines: readonly Line[]; width: number; height: number } {
  const [found, setFound] = useState<{ lines: readonly Line[]; width: number; height: number }>({ lines: [], width: 0, height: 0 });
  useLayoutEffect(() => {
    const all = box.current;
    if (all === null) return undefined;
    const draw = () => {
      const origin = all.getBoundingClientRect();
      const places = new Map([...all.querySelectorAll<HTMLElement>("[data-key]")].map((one) => [one.dataset["key"] ?? "", one.getBoundingClientRect()]));
      const lines = new Map<string, Line>();
      for (const edge of edgesOf(lineage)) {
        const [from, to] = [sourceKey(edge), targetKey(edge)];
        const [begin, end] = [places.get(from), places.get(to)];
        if (begin === undefined || end === undefined) continue;
        const [x1, y1] = [begin.right - origin.left, begin.top - origin.top + begin.height / 2];
        const [x2, y2] = [end.left - origin.left, end.top - origin.top + end.height / 2];
        const bend = Math.max(24, Math.abs(x2 - x1) / 2);
        lines.set(`${from} ${to}`, { from, to, isRows: edge.target_column === null, path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
      }
      setFound({ lines: [...lines.values()], width: all.scrollWidth, height: all.scrollHeight });
    };
    const observer = new ResizeObserver(draw);
    observer.observe(all);
    draw();
    return () => observer.disconnect();
  }, [box, lineage]);
  return found;
}
