import { useQuery } from "@tanstack/react-query";
import type { ComponentType } from "react";
import type { Schemas } from "../../api/client";
import { streamQuery } from "../../api/queries";
import { Redirect } from "wouter";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { StreamBadge } from "../../parts/states";
import { Tabs } from "../../parts/Tabs";
import { isStreamName, streamPath } from "../../streams/stream";
import { useStreamPast } from "../../streams/past";
import { linkPath } from "../link/path";
import { NotThere } from "../NotThere";
import { Alerts } from "./Alerts";
import { Checkpoints } from "./Checkpoints";
import { LineageTab } from "./LineageTab";
import { Logs } from "./Logs";
import { Metrics } from "./Metrics";
import { Overview } from "./Overview";
import { Preview } from "./Preview";
import { Runs } from "./Runs";
import { ScriptTab } from "./ScriptTab";
import { StreamActions } from "./StreamActions";
import { Versions } from "./Versions";

export interface TabProps {
  answer: Schemas["StreamAnswer"];
}

const TABS: readonly (readonly [string, string, ComponentType<TabProps>])[] = [
  ["", "Overview", Overview],
  ["script", "Script", ScriptTab],
  ["preview", "Preview", Preview],
  ["versions", "Versions", Versions],
  ["lineage", "Lineage", LineageTab],
  ["runs", "Runs", Runs],
  ["checkpoints", "Checkpoints", Checkpoints],
  ["logs", "Logs", Logs],
  ["metrics", "Metrics", Metrics],
  ["alerts", "Alerts", Alerts],
];

/** One stream: how it goes, what it runs, what ran before, what it says. */
export function StreamPage({ name, tab }: { name: string; tab: string }) {
  const found = TABS.find(([one]) => one === tab);
  if (found === undefined || !isStreamName(name)) return <NotThere />;
  return <Found name={name} tab={tab} Shown={found[2]} />;
}

function Found({ name, tab, Shown }: { name: string; tab: string; Shown: ComponentType<TabProps> }) {
  const query = useQuery(streamQuery(name));
  const answer = query.data;
  useStreamPast(answer?.stream);
  if (answer?.stream.kind === "link") return <Redirect to={linkPath(answer.stream.target, name)} replace />;
  return (
    <Page
      title={`Stream ${name}`}
      crumbs={[["Streams", "/streams"]]}
      beside={answer ? <StreamBadge state={answer.stream.state} /> : null}
      actions={answer ? <StreamActions answer={answer} /> : null}
      under={answer?.stream.description ? <p className="dim">{answer.stream.description}</p> : null}
    >
      <Tabs label={`Stream ${name}`} tabs={TABS.map(([one, label]) => ({ href: streamPath(name, one), label, current: one === tab }))} />
      <Fetched query={query} what="the stream">
        {(data) => <Shown answer={data} />}
      </Fetched>
    </Page>
  );
}
