import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { counted } from "../../format/numbers";
import { HeldBadge, WaveBadge } from "../../migrations/WaveBadge";
import { few, hasLink, leadsBack, runWords, standsWords, thereOf, waveAnchor, type Wave } from "../../migrations/waves";
import { Facts } from "../../parts/Facts";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { sentence } from "../../parts/ProblemNotice";
import { Shape } from "../../parts/Shape";
import { linkPath } from "../link/path";
import { RunTitle, RunView } from "./RunView";
import { WaveActions } from "./WaveActions";

interface Props {
  wave: Wave;
  answer: Schemas["MigrationAnswer"];
  /** What time it is, or was when the answer was read. */
  nowMs: number;
  /** Whether its last run is unfolded also where that has ended. */
  isOpen: boolean;
}

/** What happened to a wave without one of its clusters. */
function lostWords(wave: Wave): string {
  if (!wave.lost) return "What was under way was ended without a cluster that was gone";
  return leadsBack(wave) ? "It was switched without its source" : "It was led back without its target";
}

/** A wave: where it stands, what it consists of, the run that is under way or was the last, and the earlier ones. */
export function WaveSection({ wave, answer, nowMs, isOpen }: Props) {
  const { migration } = answer;
  const runs = answer.runs.filter(({ run }) => run.wave === wave.name);
  const [last, ...earlier] = runs;
  return (
    <section className="panel" aria-label={`Wave ${wave.name}`} id={waveAnchor(wave.name)}>
      <div className="row">
        <h2 className="anywhere">Wave {wave.name}</h2>
        <WaveBadge wave={wave} />
        {wave.held ? <HeldBadge /> : null}
        <div className="row end">
          <WaveActions wave={wave} answer={answer} />
        </div>
      </div>
      <p>{standsWords(wave, migration)}</p>
      {wave.lost || wave.doubts.length ? (
        <div className="notice warn">
          <div className="notice-title">
            <Shape name="triangle" size={12} />
            <span>{lostWords(wave)}</span>
          </div>
          <MoreRows rows={wave.doubts} what="doubts">
            {(doubts) => (
              <ul>
                {doubts.map((doubt) => (
                  <li key={doubt}>{sentence(doubt)}</li>
                ))}
              </ul>
            )}
          </MoreRows>
        </div>
      ) : null}
      {wave.not_copied ? <p className="old">Not all is copied: {wave.not_copied}</p> : null}
      {wave.held ? <p className="old">Its switches wait: {wave.held}</p> : null}
      <Facts
        facts={[
          [
            "link",
            hasLink(wave) ? (
              <Link key="link" href={linkPath(thereOf(wave, migration), wave.link)}>
                {wave.link}
              </Link>
            ) : (
              <span key="link" className="dim">
                {wave.state === "completed" ? "none any more" : `none yet; it will be ${wave.link}`}
              </span>
            ),
          ],
          ["topics", few(wave.topics, "topic")],
          ["groups", few(wave.groups, "group")],
          ...(wave.jobs.length ? ([["stream jobs", few(wave.jobs, "job")]] as const) : []),
          ["fences", wave.fences.join(", ")],
          ...(wave.readers === "deny" ? ([["readers", "denied reading as it is switched"]] as const) : []),
          ["order", wave.order],
        ]}
      />
      {last === undefined ? (
        <p className="dim">Nothing was done for it yet.</p>
      ) : last.run.is_open ? (
        <div className="stack">
          <h3>
            Under way: <RunTitle run={last.run} />
          </h3>
          <RunView answer={last} nowMs={nowMs} />
        </div>
      ) : (
        <Folded key={last.run.id} open={isOpen} summary={<>Last: <RunTitle run={last.run} /></>}>
          {() => <RunView answer={last} nowMs={nowMs} />}
        </Folded>
      )}
      {earlier.length ? (
        <Folded summary={counted(earlier.length, "earlier run")}>
          {() => (
            <ul className="stack within">
              {earlier.map((one) => (
                <li key={one.run.id}>
                  <Folded summary={<RunTitle run={one.run} />}>{() => <RunView answer={one} nowMs={nowMs} label={runWords(one.run)} />}</Folded>
                </li>
              ))}
            </ul>
          )}
        </Folded>
      ) : null}
    </section>
  );
}
