import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { ProblemError } from "../../api/problem";
import { laneQuery, rangesQuery } from "../../api/queries";
import { brief, bytes, perSecond, rate, seconds, whole } from "../../format/numbers";
import { Age, ReadAge } from "../../parts/Age";
import { Empty } from "../../parts/Empty";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Figures } from "../../parts/Figures";
import { Page } from "../../parts/Page";
import { ProblemOf, sentence } from "../../parts/ProblemNotice";
import { LaneStateBadge } from "../../parts/states";
import { Action } from "../../plans/Action";
import { linkPath } from "../link/path";
import { Translate } from "../link/Translate";
import { MapTable } from "./MapTable";
import { OffsetMap } from "./OffsetMap";

interface Props {
  target: string;
  link: string;
  where: string;
}

export function LanePage({ target, link, where }: Props) {
  const query = useQuery(laneQuery(target, link, where));
  const lane = query.data?.lane;
  const absent = query.error instanceof ProblemError && query.error.problem.type === NO_LANE;
  return (
    <Page
      title={where}
      crumbs={[
        ["Links", "/"],
        [link, linkPath(target, link)],
      ]}
      beside={
        lane ? (
          <>
            <span className="dim anywhere">→ {lane.target}</span>
            <LaneStateBadge state={lane.state} />
            <ReadAge ms={query.data?.read_at_ms} problem={query.data?.problem ?? null} />
          </>
        ) : null
      }
      actions={lane?.state === "stopped" ? <StoppedActions target={target} link={link} where={where} /> : null}
    >
      {absent ? (
        <div className="panel">
          <Empty title={`Link ${link} has no lane from ${where}`}>
            <p className="dim">
              Look through <Link href={linkPath(target, link)}>all its lanes</Link>: the partition may be outside of its filter.
            </p>
          </Empty>
        </div>
      ) : (
        <Fetched query={query} what={`lane ${where}`}>
          {(data) => (
            <>
              {data.problem ? (
                <ProblemOf problem={data.problem} title={`Cluster ${target} is away: what is shown is old`} tone="warn" />
              ) : null}
              <Shown target={target} link={link} lane={data.lane} />
            </>
          )}
        </Fetched>
      )}
    </Page>
  );
}

const NO_LANE = "urn:anabranch:problem:no-lane";

const StoppedActions = ({ target, link, where }: Props) => (
  <>
    <Action verb="links.resume" body={{ target, link }} title={`Have stopped lanes of ${link} try again`}>
      Try again
    </Action>
    <Action verb="links.accept" body={{ target, link, where }} title={`Accept what is lost in ${where}`}>
      Accept
    </Action>
  </>
);

function Shown({ target, link, lane }: { target: string; link: string; lane: Schemas["LaneProgress"] }) {
  return (
    <>
      {lane.stop_reason ? (
        <div className={`notice ${lane.state === "stopped" ? "bad" : "warn"}`}>
          <div className="notice-title">
            {lane.state === "stopped" ? `Stopped at offset ${whole(lane.stop_offset)}` : `It is ${lane.state}`}
          </div>
          <p>{sentence(lane.stop_reason)}</p>
        </div>
      ) : null}
      <Figures
        figures={[
          { label: "Position", value: whole(lane.position), note: "the next source offset to copy" },
          { label: "Lag", value: whole(lane.lag_records), note: `records, ${bytes(lane.lag_bytes)}` },
          { label: "Behind", value: seconds(lane.lag_seconds) },
          { label: "Rate", value: perSecond(lane.records_per_s), note: rate(lane.bytes_per_s) },
          ...(lane.latency_ms === null ? [] : [{ label: "Latency", value: brief(lane.latency_ms / 1000), note: "from its timestamp to the target" }]),
          { label: "Copied", value: whole(lane.records), note: `records, ${bytes(lane.bytes)}` },
        ]}
      />
      <div className="columns">
        <section className="panel" aria-label="Numbers">
          <h2>Numbers</h2>
          <Facts
            facts={[
              ["mode", lane.mode_reason ? `${lane.mode}: ${lane.mode_reason}` : lane.mode],
              ["source log begins at", whole(lane.log_start)],
              ["source's last stable offset", whole(lane.stable)],
              ["source's high watermark", whole(lane.high_watermark)],
              ["next target offset", whole(lane.target_end)],
              ["owner", lane.owner],
              ["source last reached", <Age key="seen" ms={lane.source_seen_ms} absolute />],
              ["persisted", <Age key="updated" ms={lane.updated_at_ms} absolute />],
              ["key", <code key="key" className="anywhere">{lane.lane}</code>],
            ]}
          />
        </section>
        <section className="panel" aria-label="Where is this record?">
          <h2>Where is this record?</h2>
          <Translate target={target} link={link} lane={lane} />
        </section>
      </div>
      <Map target={target} link={link} where={lane.source} />
    </>
  );
}

function Map({ target, link, where }: Props) {
  const query = useQuery(rangesQuery(target, link, where));
  return (
    <section className="panel" aria-label="Offset map">
      <h2>Offset map</h2>
      <Fetched query={query} what="the offset map">
        {(maps) => {
          const map = maps.find((one) => one.source === where);
          if (map === undefined || map.source_end <= map.source_start) {
            return (
              <Empty title="Nothing of this lane is persisted yet">
                <p className="dim">Its mapped ranges appear here once it has copied records.</p>
              </Empty>
            );
          }
          return (
            <div className="stack">
              <OffsetMap map={map} />
              <MapTable map={map} />
            </div>
          );
        }}
      </Fetched>
    </section>
  );
}
