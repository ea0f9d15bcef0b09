import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { migrationQuery } from "../../api/queries";
import { command } from "../../format/command";
import { counted, whole } from "../../format/numbers";
import { yamlText } from "../../format/yaml/write";
import { useNow } from "../../live/ticker";
import { carriedOver } from "../../migrations/access";
import { copyingOf, isHeldBack } from "../../migrations/throttle";
import { HeldBadge } from "../../migrations/WaveBadge";
import { migrationPath, wavesWords } from "../../migrations/waves";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Folded } from "../../parts/Folded";
import { MoreRows } from "../../parts/MoreRows";
import { Page } from "../../parts/Page";
import { Shape } from "../../parts/Shape";
import { Action } from "../../plans/Action";
import { NotThere } from "../NotThere";
import { isName } from "./name";
import { Overview } from "./Overview";
import { WaveSection } from "./WaveSection";

/** Below so many waves the last run of each is unfolded. */
const FEW = 4;

/** One migration: where each wave is, what is under way, and what can be done. */
export function MigrationPage({ name }: { name: string }) {
  if (!isName(name)) return <NotThere />;
  return <Shown name={name} />;
}

function Shown({ name }: { name: string }) {
  const query = useQuery(migrationQuery(name));
  const now = useNow();
  const answer = query.data;
  return (
    <Page
      title={`Migration ${name}`}
      crumbs={[["Migrations", "/migrations"]]}
      beside={answer?.migration.held ? <HeldBadge /> : null}
      actions={answer ? <Actions answer={answer} /> : null}
    >
      <Fetched query={query} what="the migration">
        {(found) => (
          <>
            <About answer={found} />
            <Overview migration={found.migration} />
            <MoreRows rows={found.migration.waves} what="waves">
              {(waves) => (
                <div className="stack-wide">
                  {waves.map((wave) => (
                    <WaveSection
                      key={wave.name}
                      wave={wave}
                      answer={found}
                      // No clock runs on in what is old.
                      nowMs={query.isError ? query.dataUpdatedAt : now}
                      isOpen={found.migration.waves.length < FEW}
                    />
                  ))}
                </div>
              )}
            </MoreRows>
            <File answer={found} />
          </>
        )}
      </Fetched>
    </Page>
  );
}

function Actions({ answer: { migration, document } }: { answer: Schemas["MigrationAnswer"] }) {
  const { name, held, throttle, waves } = migration;
  const planned = waves.filter((wave) => wave.state === "planned" && !wave.run?.is_open).length;
  return (
    <>
      {planned > 1 ? (
        <Action verb="migrations.start" body={{ migration: document }} title={`Start what is planned of ${name}`}>
          Start all {whole(planned)}
        </Action>
      ) : null}
      {held ? (
        <Action verb="migrations.release" body={{ migration: name }} title={`Release ${name}`}>
          Release
        </Action>
      ) : (
        <Action verb="migrations.hold" body={{ migration: name }} title={`Hold all switches of ${name}`}>
          Hold all switches
        </Action>
      )}
      {waves.some((wave) => wave.state !== "completed") ? (
        <Action verb="migrations.throttle" body={{ migration: name }} title={`Slow ${name} down`}>
          Slow down
        </Action>
      ) : null}
      {waves.some((wave) => wave.state !== "completed") ? (
        <Action verb="migrations.access" body={{ migration: document }} title={`Access rules and quotas of ${name}`}>
          Access rules
        </Action>
      ) : null}
      {isHeldBack(throttle) ? (
        <Action verb="migrations.resume" body={{ migration: name }} title={`Copy ${name} as fast as it may`}>
          Resume
        </Action>
      ) : null}
    </>
  );
}

function About({ answer: { migration } }: { answer: Schemas["MigrationAnswer"] }) {
  const { source, target, author, created_ms: created, approvers, held, throttle, access, waves } = migration;
  return (
    <section className="panel" aria-label="About this migration">
      {held ? (
        <div className="notice warn">
          <div className="notice-title">
            <Shape name="pause" size={12} />
            <span>Its switches are held</span>
          </div>
          <p>{held}</p>
        </div>
      ) : null}
      <Facts
        facts={[
          ["from", <code key="from">{source}</code>],
          ["to", <code key="to">{target}</code>],
          ["waves", `${counted(waves.length, "wave")}: ${wavesWords(waves)}`],
          ["began", <span key="began"><Age ms={created} absolute /> by {author}</span>],
          [
            "approved by",
            approvers.length === 0
              ? "nobody has to: whoever may apply a plan switches"
              : `one of ${approvers.join(", ")} who did not ask for it: whoever plans a switch hands the plan's address on, and it is applied there`,
          ],
          ["copying", <HowItCopies key="copying" throttle={throttle} />],
          ...(Object.keys(access).length ? ([["access rules", <HowItCarriesOver key="access" access={access} />]] as const) : []),
        ]}
      />
      <CommandLine text={command(["migrate", "show", migration.name])} />
    </section>
  );
}

/** How fast its links may copy, by what they are slowed down, and as of when. */
function HowItCopies({ throttle }: { throttle: Readonly<Record<string, unknown>> }) {
  const { words, reasons, failures, seenMs } = copyingOf(throttle);
  return (
    <>
      {words}
      {seenMs === null ? null : (
        <span className="dim small">
          {" "}
          (looked at <Age ms={seenMs} />)
        </span>
      )}
      {reasons.length + failures.length ? (
        <ul className="small">
          {reasons.map((one) => (
            <li key={one}>{one}</li>
          ))}
          {failures.map((one) => (
            <li key={one} className="old">
              {one}
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

/** When access rules and quotas were carried over, what that changed last, and why it fails for a wave. */
function HowItCarriesOver({ access }: { access: Schemas["MigrationSummary"]["access"] }) {
  const found = carriedOver(access);
  if (found === null) return null;
  const { words, goodMs, changedMs, failures } = found;
  return (
    <>
      {goodMs === null ? null : (
        <>
          carried over <Age ms={goodMs} />;{" "}
        </>
      )}
      {changedMs === null ? (
        words
      ) : (
        <>
          last change <Age ms={changedMs} />: {words}
        </>
      )}
      {failures.length ? (
        <ul className="small">
          {failures.map((one) => (
            <li key={one.wave} className="old">
              wave {one.wave} is not carried over (last: <Age ms={one.goodMs} />): {one.why}
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

const File = ({ answer: { migration, document } }: { answer: Schemas["MigrationAnswer"] }) => {
  const text = yamlText(document);
  return (
    <section className="panel" aria-label="Its file">
      <div className="row">
        <h2>Its file</h2>
        <span className="dim small">revision {whole(migration.revision)}</span>
        <span className="row end">
          <Download name={`${migration.name}.yaml`} text={text} />
          <Link className="button" href={`${migrationPath(migration.name)}/change`}>
            Change it
          </Link>
        </span>
      </div>
      <Folded summary="Show it">
        {() => (
          <div className="command">
            <pre tabIndex={0} aria-label={`${migration.name}.yaml`}>
              {text}
            </pre>
          </div>
        )}
      </Folded>
      <p className="small">
        <Link href="/audit">The audit</Link> has who asked for what; each run below its wave leads to its own entries.
      </p>
    </section>
  );
};
