import { useEffect, useRef, useState, type ReactNode } from "react";

export interface Column<T> {
  key: string;
  head: ReactNode;
  /** What the column is called where each row is a card. */
  label: string;
  cell: (row: T) => ReactNode;
  number?: boolean;
  sorted?: "ascending" | "descending" | undefined;
}

interface Props<T> {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T, index: number) => string;
  /** Rows become cards on narrow screens; without it the table scrolls on its own. */
  cards?: boolean;
}

/** The roles are written out, since a table that is drawn as cards would lose its own. */
export function Table<T>({ caption, columns, rows, rowKey, cards = true }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const scrolls = useOverflow(box);
  return (
    <div
      className="scroll"
      ref={box}
      {...(scrolls ? { tabIndex: 0, role: "region", "aria-label": `${caption}, scrolls sideways` } : {})}
    >
      <table className={cards ? "table cards" : "table"} role="table" aria-label={caption}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.key}
                role="columnheader"
                scope="col"
                className={column.number ? "number" : ""}
                aria-sort={column.sorted}
              >
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)} role="row">
              {columns.map((column) => (
                <td key={column.key} role="cell" data-label={column.label} className={column.number ? "number" : ""}>
                  <span>{column.cell(row)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function useOverflow(box: React.RefObject<HTMLDivElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const found = box.current;
    if (found === null) return undefined;
    const look = () => setScrolls(found.scrollWidth > found.clientWidth + 1);
    const observer = new ResizeObserver(look);
    observer.observe(found);
    if (found.firstElementChild) observer.observe(found.firstElementChild);
    look();
    return () => observer.disconnect();
  }, [box]);
  return scrolls;
}
