import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { streamLogQuery } from "../../api/queries";
import { command } from "../../format/command";
import { counted } from "../../format/numbers";
import { moment } from "../../format/times";
import { CommandLine } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Filter } from "../../parts/Filter";
import type { TabProps } from "./StreamPage";

type Run = Schemas["StreamRunAnswer"];

const LIMITS = [200, 1000, 5000] as const;

interface Asked {
  search: string;
  limit: number;
  newestFirst: boolean;
}

/** What a run and Spark below it have written; of a run that goes on it grows. */
export function Logs({ answer: { stream, runs } }: TabProps) {
  const [search, setSearch] = useSearchParams();
  const run = runs.find((one) => one.id === search.get("run")) ?? runs[0];
  if (run === undefined) {
    return (
      <div className="panel">
        <Empty title="It was never started">
          <p className="dim">A log begins with its first start.</p>
        </Empty>
      </div>
    );
  }
  const limit = Number(search.get("lines"));
  const asked: Asked = {
    search: search.get("search") ?? "",
    limit: LIMITS.find((one) => one === limit) ?? LIMITS[0],
    newestFirst: search.get("first") !== "oldest",
  };
  const change = (changes: Readonly<Record<string, string>>) => {
    const found = new URLSearchParams(search);
    for (const [name, value] of Object.entries(changes)) {
      if (value) found.set(name, value);
      else found.delete(name);
    }
    setSearch(found, { replace: true });
  };
  return (
    <section className="panel" aria-label="Log">
      <div className="filters">
        <select className="input" aria-label="Run" value={run.id} onChange={(event) => change({ run: event.target.value })}>
          {runs.map((one) => (
            <option key={one.id} value={one.id}>
              start {one.fence}, {moment(one.began_at_ms)}
            </option>
          ))}
        </select>
        <Filter label="Lines with this text" value={asked.search} change={(text) => change({ search: text })} />
        <select className="input" aria-label="Lines" value={asked.limit} onChange={(event) => change({ lines: event.target.value })}>
          {LIMITS.map((one) => (
            <option key={one} value={one}>
              {counted(one, "line")} at most
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Order"
          value={asked.newestFirst ? "" : "oldest"}
          onChange={(event) => change({ first: event.target.value })}
        >
          <option value="">newest first</option>
          <option value="oldest">oldest first</option>
        </select>
      </div>
      <Lines name={stream.name} run={run} asked={asked} />
      <CommandLine
        text={command(["stream", "logs", stream.name], [["--run", run === runs[0] ? null : run.id], ["--grep", asked.search], ["--lines", asked.limit]])}
      />
    </section>
  );
}

function Lines({ name, run, asked }: { name: string; run: Run; asked: Asked }) {
  const query = useQuery(streamLogQuery(name, run.id, asked, run.ended_at_ms === null));
  return (
    <Fetched query={query} what="the log">
      {({ lines, is_cut: isCut }) =>
        lines.length === 0 ? (
          <Empty title={asked.search ? `No line has "${asked.search}"` : "It has written nothing yet"} />
        ) : (
          <>
            <div className="row">
              <span className="dim small" role="status">
                {counted(lines.length, "line")}
                {isCut ? ", the newest; there are more before them" : ""}
              </span>
              <span className="row end">
                <a className="button little" href={`/api/v1/streams/${encodeURIComponent(name)}/runs/${run.id}/log/whole`} download>
                  Save the whole log
                </a>
                <Download name={`${name}-${run.id}.log`} text={`${lines.join("\n")}\n`} label="Save these lines" little />
              </span>
            </div>
            <pre className="log" tabIndex={0} role="region" aria-label={`Log of start ${run.fence}`}>
              {(asked.newestFirst ? [...lines].reverse() : lines).map((line, at) => (
                <span key={at} className={tone(line)}>
                  {line}
                  {"\n"}
                </span>
              ))}
            </pre>
          </>
        )
      }
    </Fetched>
  );
}

/** Lines that say themselves that they are warnings or errors stand out. */
const tone = (line: string): string => (/\b(ERROR|FATAL)\b/.test(line) ? "log-bad" : /\bWARN(ING)?\b/.test(line) ? "log-warn" : "");
