import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { Schemas } from "../../api/client";
import { linkQuery } from "../../api/queries";
import { bytes, counted, perSecond, rate, seconds, UNKNOWN, whole } from "../../format/numbers";
import { Age, ReadAge } from "../../parts/Age";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { Page } from "../../parts/Page";
import { ProblemOf } from "../../parts/ProblemNotice";
import { Reasons } from "../../parts/Reasons";
import { Share } from "../../parts/Share";
import { LinkBadge } from "../../parts/states";
import { Tabs } from "../../parts/Tabs";
import { Waiting } from "../../parts/Waiting";
import { Boundary } from "../../parts/Boundary";
import { AlertsOf } from "../streams/Alerts";
import { Groups } from "./Groups";
import { Lanes } from "./Lanes";
import { LinkActions } from "./LinkActions";
import { linkPath } from "./path";
import { Settings } from "./Settings";
import { stateSentence } from "./sentence";
import { Verification } from "./Verification";
import { Where } from "./Where";

const Charts = lazy(() => import("./Charts"));

const TABS = [
  ["lanes", "Lanes"],
  ["groups", "Groups"],
  ["verification", "Verification"],
  ["charts", "Charts"],
  ["settings", "Settings and processes"],
  ["alerts", "Alerts"],
  ["where", "Where is this record?"],
] as const;

interface Props {
  target: string;
  link: string;
  tab: string;
}

export function LinkPage({ target, link, tab }: Props) {
  const query = useQuery(linkQuery(target, link));
  const found = query.data;
  return (
    <Page
      title={link}
      crumbs={[["Links", "/"]]}
      beside={
        found ? (
          <>
            <span className="dim nowrap">
              {found.summary.source} → {target}
            </span>
            <LinkBadge link={found.summary} />
            <ReadAge ms={found.summary.read_at_ms} problem={found.summary.problem} />
          </>
        ) : null
      }
      actions={found ? <LinkActions target={target} answer={found} /> : null}
      under={found ? <p>{stateSentence(found)}</p> : null}
    >
      <Fetched query={query} what={`link ${link}`}>
        {(data) => (
          <>
            {data.summary.problem ? (
              <ProblemOf problem={data.summary.problem} title={`Cluster ${target} is away: what is shown is old`} tone="warn" />
            ) : null}
            <Totals summary={data.summary} />
            <Findings answer={data} />
            <Tabs
              label={`Parts of link ${link}`}
              tabs={TABS.map(([name, label]) => ({
                href: linkPath(target, link, name === "lanes" ? "" : name),
                label,
                current: tab === name,
              }))}
            />
            <Boundary at={tab}>
              <Tab target={target} link={link} tab={tab} answer={data} />
            </Boundary>
          </>
        )}
      </Fetched>
    </Page>
  );
}

function Tab({ target, link, tab, answer }: Props & { answer: Schemas["LinkAnswer"] }) {
  switch (tab) {
    case "groups":
      return <Groups target={target} link={link} />;
    case "verification":
      return <Verification target={target} link={link} />;
    case "charts":
      return (
        <Suspense fallback={<Waiting what="the charts" />}>
          <Charts target={target} link={link} />
        </Suspense>
      );
    case "settings":
      return <Settings target={target} link={link} answer={answer} />;
    case "alerts":
      return <AlertsOf name={link} target={target} />;
    case "where":
      return <Where target={target} link={link} />;
    default:
      return <Lanes target={target} link={link} summary={answer.summary} />;
  }
}

function Totals({ summary }: { summary: Schemas["LinkSummary"] }) {
  const { totals } = summary;
  return (
    <Figures
      figures={[
        {
          label: "Copied",
          value: <Share done={totals.done} />,
          note: `${whole(totals.records)} records, ${bytes(totals.bytes)}`,
        },
        { label: "Lag", value: whole(totals.lag_records), note: `records, ${bytes(totals.lag_bytes)}` },
        { label: "Behind", value: seconds(totals.lag_seconds), note: "the worst lane" },
        { label: "Rate", value: perSecond(totals.records_per_s), note: rate(totals.bytes_per_s) },
        {
          label: "Caught up in",
          value: totals.eta_seconds === null ? UNKNOWN : seconds(totals.eta_seconds),
          note: "at the present rate",
        },
        {
          label: "Lanes",
          value: whole(totals.lanes),
          note: (totals.states as [string, number][]).map(([state, number]) => `${whole(number)} ${state}`).join(", ") || "none yet",
        },
        {
          label: "Source last reached",
          value: <Age ms={summary.source_seen_ms} />,
          note: totals.unknown ? `of ${counted(totals.unknown, "lane")} its end is not known` : "of every lane its end is known",
        },
      ]}
    />
  );
}

function Findings({ answer }: { answer: Schemas["LinkAnswer"] }) {
  const found = [...answer.findings, ...(answer.plan?.findings ?? [])];
  if (found.length === 0) return null;
  return (
    <section className="stack" aria-label="Findings">
      <h2>{counted(found.length, "finding")}</h2>
      <Reasons reasons={found} />
    </section>
  );
}
