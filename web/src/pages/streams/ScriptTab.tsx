import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { streamVersionQuery } from "../../api/queries";
import { CopyButton } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Age } from "../../parts/Age";
import { SqlText } from "../../editor/SqlText";
import { EditLink } from "./StreamActions";
import { restartsWords, triggerWords } from "./Overview";
import type { TabProps } from "./StreamPage";

/** How files of a kind end. */
const ENDINGS = { sql: "sql", pyspark: "py" } as const;

type Note = Schemas["StreamVersionNote"];

/** The script of any version, and how it runs. */
export function ScriptTab({ answer: { stream, versions } }: TabProps) {
  const [search, setSearch] = useSearchParams();
  const wanted = Number(search.get("version") ?? stream.running_version ?? stream.published);
  const shown = versions.find((one) => one.number === wanted) ?? versions.find((one) => one.number === stream.published);
  if (shown === undefined) return null;
  return (
    <section className="panel" aria-label="Script">
      <div className="filters">
        <select
          className="input"
          aria-label="Version"
          value={shown.number}
          onChange={(event) => setSearch(new URLSearchParams({ version: event.target.value }), { replace: true })}
        >
          {versions.map((one) => (
            <option key={one.number} value={one.number}>
              {versionWords(one, stream)}
            </option>
          ))}
        </select>
        <Script name={stream.name} version={shown} line={Number(search.get("line")) || null} />
      </div>
    </section>
  );
}

export function versionWords({ number }: Pick<Note, "number">, { running_version: runs, published }: Schemas["StreamSummary"]): string {
  const said = [number === runs ? "runs" : "", number === published ? "published" : ""].filter(Boolean).join(", ");
  return `version ${number}${said ? ` (${said})` : ""}`;
}

function Script({ name, version, line }: { name: string; version: Note; line: number | null }) {
  const query = useQuery(streamVersionQuery(name, version));
  return (
    <Fetched query={query} what="the script">
      {(found) => (
        <>
          <span className="row end">
            <CopyButton text={found.script} label="Copy the script" />
            <Download name={`${name}-${found.number}.${ENDINGS[found.kind]}`} text={found.script} little />
            <EditLink name={name} version={found.number} />
          </span>
          <div className="whole-line stack">
            <Facts
              facts={[
                ["saved", <span key="saved"><Age ms={found.at_ms} absolute /> by {found.author}</span>],
                ...(found.note ? ([["note", found.note]] as const) : []),
                ["a micro-batch begins", triggerWords(found.settings.trigger)],
                ["started again", restartsWords(found.settings.restarts)],
                ["runs on", found.settings.launcher],
              ]}
            />
            <SqlText text={found.script} label={`Script of version ${found.number}`} line={line} kind={found.kind} />
          </div>
        </>
      )}
    </Fetched>
  );
}
