import { useSearchParams } from "wouter";
import { TryPanel } from "../../streams/TryPanel";
import { versionWords } from "./ScriptTab";
import { NotOfPySpark } from "../../streams/NotOfPySpark";
import type { TabProps } from "./StreamPage";

/** Rows of a saved version, without running it. */
export const Preview = ({ answer }: TabProps) =>
  answer.stream.kind === "pyspark" ? <NotOfPySpark what="preview" why="What it does is known only by running it." /> : <OfScript answer={answer} />;

function OfScript({ answer: { stream, versions } }: TabProps) {
  const [search, setSearch] = useSearchParams();
  const wanted = Number(search.get("version") ?? stream.running_version ?? stream.published);
  const number = versions.find((one) => one.number === wanted)?.number ?? stream.published;
  return (
    <>
      <div className="filters">
        <select
          className="input"
          aria-label="Version"
          value={number}
          onChange={(event) => setSearch(new URLSearchParams({ version: event.target.value }), { replace: true })}
        >
          {versions.map((one) => (
            <option key={one.number} value={one.number}>
              {versionWords(one, stream)}
            </option>
          ))}
        </select>
      </div>
      <TryPanel key={number} of={{ stream: stream.name, version: number }} />
    </>
  );
}
