import { useMemo, useState } from "react";
import { folded, lineDiff, type DiffRow } from "../format/linediff";
import { counted } from "../format/numbers";
import { differences } from "../plans/diff";

/** A script with how it runs, under a name for whoever compares it. */
export interface Side {
  name: string;
  script: string;
  settings: unknown;
}

interface Props {
  before: Side;
  after: Side;
  /** `side`, `unified`, or null for what suits the window. */
  view: string | null;
  change: (view: string) => void;
}

/** What differs between two scripts and their settings, beside or below each other. */
export function ScriptDiff({ before, after, view, change }: Props) {
  const rows = useMemo(() => lineDiff(before.script, after.script), [before.script, after.script]);
  const [whole, setWhole] = useState(false);
  const settings = differences(before.settings, after.settings);
  const isSame = rows.every((row) => row.same);
  const isSide = (view ?? (window.innerWidth < 900 ? "unified" : "side")) === "side";
  const shown = whole ? rows : folded(rows);
  return (
    <div className="stack">
      {settings.map(({ path, before: was, after: is }) => (
        <p key={path}>
          {path}: <span className="change-old">{was}</span> <span className="change-new">{is}</span>
        </p>
      ))}
      {isSame ? (
        <p className="dim">{settings.length ? "The scripts are the same." : "Nothing: script and settings are the same."}</p>
      ) : (
        <>
          <div className="row">
            <div role="radiogroup" aria-label="How differences are shown" className="segments">
              {(["side", "unified"] as const).map((one) => (
                <label key={one}>
                  <input
                    type="radio"
                    name="diff-view"
                    className="hidden"
                    checked={isSide === (one === "side")}
                    onChange={() => change(one)}
                  />
                  {one === "side" ? "side by side" : "one below the other"}
                </label>
              ))}
            </div>
            <label className="check">
              <input type="checkbox" checked={whole} onChange={(event) => setWhole(event.target.checked)} />
              all lines
            </label>
          </div>
          <div className="scroll diff-box" tabIndex={0} role="region" aria-label={`From ${before.name} to ${after.name}`}>
            {isSide ? <SideBySide rows={shown} before={before.name} after={after.name} /> : <Unified rows={shown} />}
          </div>
        </>
      )}
    </div>
  );
}

type Rows = readonly (DiffRow | number)[];

const Gap = ({ count, wide }: { count: number; wide: number }) => (
  <tr className="gap">
    <td colSpan={wide}>{counted(count, "line is", "lines are")} the same</td>
  </tr>
);

const SideBySide = ({ rows, before, after }: { rows: Rows; before: string; after: string }) => (
  <table className="diff side" aria-label="Both scripts, side by side">
    <colgroup>
      <col className="line-column" />
      <col />
      <col className="line-column" />
      <col />
    </colgroup>
    <thead>
      <tr>
        <th scope="col" colSpan={2}>
          {before}
        </th>
        <th scope="col" colSpan={2}>
          {after}
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row, at) =>
        typeof row === "number" ? (
          <Gap key={at} count={row} wide={4} />
        ) : (
          <tr key={at}>
            <Number of={row.before} />
            <Text of={row.before} mark={row.same ? "" : "−"} kind={row.same ? "" : "gone"} />
            <Number of={row.after} />
            <Text of={row.after} mark={row.same ? "" : "+"} kind={row.same ? "" : "come"} />
          </tr>
        ),
      )}
    </tbody>
  </table>
);

/** What was taken away stands above what came in its place. */
function Unified({ rows }: { rows: Rows }) {
  const lines: (DiffRow | number)[] = [];
  let come: DiffRow[] = [];
  for (const row of rows) {
    if (typeof row !== "number" && !row.same) {
      if (row.before !== null) lines.push({ before: row.before, after: null, same: false });
      if (row.after !== null) come.push({ before: null, after: row.after, same: false });
      continue;
    }
    lines.push(...come, row);
    come = [];
  }
  lines.push(...come);
  return (
    <table className="diff" aria-label="Both scripts, one below the other">
      <tbody>
        {lines.map((row, at) =>
          typeof row === "number" ? (
            <Gap key={at} count={row} wide={3} />
          ) : (
            <tr key={at}>
              <Number of={row.before} />
              <Number of={row.after} />
              <Text
                of={row.after ?? row.before}
                mark={row.same ? "" : row.after === null ? "−" : "+"}
                kind={row.same ? "" : row.after === null ? "gone" : "come"}
              />
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

type Line = DiffRow["before"];

const Number = ({ of }: { of: Line }) => <td className="line-number">{of?.number ?? ""}</td>;

const Text = ({ of, mark, kind }: { of: Line; mark: string; kind: string }) =>
  of === null ? (
    <td className="nothing" />
  ) : (
    <td className={kind}>
      <span className="diff-mark">{mark}</span>
      {of.text}
    </td>
  );
