import { highlightCode } from "@lezer/highlight";
import { useEffect, useMemo, useRef } from "react";
import { colours } from "./dialect";
import { languageOf, type TextKind } from "./language";

interface Props {
  text: string;
  label: string;
  /** A line that stands out, and is scrolled to. */
  line: number | null;
  kind: TextKind;
}

type Piece = readonly [text: string, colour: string];

/** SQL, or Python, to read: in colours, with the numbers of its lines.  Of its own file, with the parser. */
export default function SqlLines({ text, label, line, kind }: Props) {
  const lines = useMemo(() => piecesOf(text, kind), [text, kind]);
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "center" }), [line]);
  return (
    <div className="sql scroll" tabIndex={0} role="region" aria-label={label}>
      <ol>
        {lines.map((pieces, at) => (
          <li key={at} id={`L${at + 1}`} {...(line === at + 1 ? { ref: marked, className: "marked", "aria-current": true } : {})}>
            <code>
              {pieces.map(([piece, colour], index) => (
                <span key={index} className={colour}>
                  {piece}
                </span>
              ))}
              {"\n"}
            </code>
          </li>
        ))}
      </ol>
    </div>
  );
}

function piecesOf(text: string, kind: TextKind): Piece[][] {
  const lines: Piece[][] = [[]];
  highlightCode(
    text.replace(/\n$/, ""),
    languageOf(kind).parser.parse(text),
    colours,
    (piece, colour) => lines.at(-1)?.push([piece, colour]),
    () => lines.push([]),
  );
  return lines;
}
