import { useEffect, useState } from "react";
import { counted, whole } from "../../format/numbers";
import { ReadAge } from "../../parts/Age";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Action } from "../../plans/Action";
import { LANE_STATES, useLanesAsked } from "./useLanesAsked";
import { LanesTable } from "./LanesTable";
import { useLanePages } from "./useLanePages";
import type { Schemas } from "../../api/client";

interface Props {
  target: string;
  link: string;
  summary: Schemas["LinkSummary"];
}

export function Lanes({ target, link, summary }: Props) {
  const total = summary.totals.lanes;
  const [asked, change] = useLanesAsked();
  const [text, setText] = useState(asked.text);
  useEffect(() => {
    if (text === asked.text) return undefined;
    const timer = setTimeout(() => change({ text }), 200);
    return () => clearTimeout(timer);
  });
  const pages = useLanePages(target, link, asked);
  if (total === 0 && (pages.matching ?? 0) === 0 && !asked.text) {
    return (
      <div className="panel">
        <Empty title="This link has no lanes yet">
          <p className="dim">
            A lane is one source partition that is copied to one target partition.{" "}
            {summary.running ? "The link runs: its lanes appear within seconds." : "They appear when the link runs."}
          </p>
          {summary.running ? null : (
            <Action verb="links.run" body={{ target, link }} title={`Run ${link}`}>
              Run the link
            </Action>
          )}
        </Empty>
      </div>
    );
  }
  return (
    <section className="stack" aria-label="Lanes">
      <div className="filters">
        <input
          className="input"
          type="search"
          aria-label="Filter lanes by topic or partition"
          placeholder="Topic or partition"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select
          className="input"
          aria-label="State"
          value={asked.state[0] ?? ""}
          onChange={(event) => change({ state: event.target.value ? [event.target.value as Schemas["LaneState"]] : [] })}
        >
          <option value="">Every state</option>
          {LANE_STATES.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Mode"
          value={asked.mode}
          onChange={(event) => change({ mode: event.target.value as Schemas["LaneMode"] | "" })}
        >
          <option value="">Both modes</option>
          <option value="identity">identity</option>
          <option value="mapped">mapped</option>
        </select>
        <span className="dim small" role="status">
          {pages.matching === undefined || pages.matching === pages.total
            ? counted(pages.total ?? total, "lane")
            : `${whole(pages.matching)} of ${counted(pages.total ?? total, "lane")}`}
        </span>
        {pages.readAt === undefined ? null : <ReadAge ms={pages.readAt} problem={pages.problem ?? null} />}
      </div>
      {pages.error ? <ProblemNotice error={pages.error} again={pages.again} /> : null}
      {pages.matching === 0 ? (
        <div className="row">
          <Button
            act={() => {
              setText("");
              change({ text: "", state: [], mode: "" });
            }}
          >
            Show every lane
          </Button>
        </div>
      ) : null}
      <LanesTable target={target} link={link} asked={asked} change={change} pages={pages} />
    </section>
  );
}
