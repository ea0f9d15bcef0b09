import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { clustersQuery } from "../../api/queries";
import { actionsOf, leadsBack, openRun, whyNotGivenUp, type Wave } from "../../migrations/waves";
import { Action } from "../../plans/Action";

/** What can be done for a wave as it stands: each shows its plan first. */
export function WaveActions({ wave, answer: { migration, document } }: { wave: Wave; answer: Schemas["MigrationAnswer"] }) {
  const { name } = migration;
  const run = openRun(wave);
  const of = <span className="hidden"> wave {wave.name}</span>;
  const body = { migration: name, wave: wave.name };
  const away = { source: useIsAway(migration.source), target: useIsAway(migration.target) };
  const isSourceAway = away.source === true;
  const isTargetAway = away.target === true;
  // What is asked depends on it: a dialog that is opened before has no way to go on without the cluster.
  const unknown: Record<string, string | null> = {
    switch: away.source === null ? `whether ${migration.source} answers is being asked` : null,
    reverse: away.target === null ? `whether ${migration.target} answers is being asked` : null,
  };
  const isBack = leadsBack(wave);
  const bodies: Record<string, object> = {
    start: { migration: document, waves: [wave.name] },
    switch: isSourceAway ? body : { ...body, source_lost: false, unknown_groups: "refuse" },
    reverse: isTargetAway ? body : { ...body, target_lost: false, unknown_groups: "refuse" },
    "give-up": { ...body, ...(isSourceAway ? {} : { source_lost: false }), ...(isTargetAway ? {} : { target_lost: false }) },
  };
  const isThere = (verb: string) => (verb === "switch" && isBack && !isSourceAway) || (verb === "reverse" && !isBack && !isTargetAway);
  const actions = actionsOf(wave).filter(({ verb }) => !isThere(verb));
  const isHeldItself = wave.held !== "" && wave.held !== migration.held;
  return (
    <>
      {run === null
        ? actions.map(({ verb, words, isMain }) => (
            <Action
              key={verb}
              verb={`migrations.${verb}`}
              body={{ ...(bodies[verb] ?? body) }}
              title={`${words}: wave ${wave.name}`}
              main={isMain}
              why={unknown[verb] ?? null}
            >
              {words}
              {of}
            </Action>
          ))
        : null}
      {run === null ? null : (
        <Action
          verb="migrations.give-up"
          body={{ ...(bodies["give-up"] ?? body) }}
          title={`Give up: ${run.what} of wave ${wave.name}`}
          why={unknown.switch ?? unknown.reverse ?? whyNotGivenUp(run, isSourceAway || isTargetAway)}
        >
          Give it up{of}
        </Action>
      )}
      {wave.state === "planned" || wave.state === "copying" ? (
        <Action verb="migrations.rehearse" body={{ migration: document, wave: wave.name }} title={`Rehearse wave ${wave.name}`} why={run === null ? null : "something is under way for it"}>
          Rehearse{of}
        </Action>
      ) : null}
      {wave.state === "completed" ? null : isHeldItself ? (
        <Action verb="migrations.release" body={body} title={`Release wave ${wave.name}`}>
          Release{of}
        </Action>
      ) : wave.held ? null : (
        <Action verb="migrations.hold" body={body} title={`Hold wave ${wave.name}`}>
          Hold{of}
        </Action>
      )}
    </>
  );
}

/** Whether a cluster did not answer when it was asked last; only then a verb may be asked for without it.
 *  Null until that is known. */
function useIsAway(name: string): boolean | null {
  const { data, isPending } = useQuery(clustersQuery);
  if (isPending) return null;
  const found = data?.clusters.find((cluster) => cluster.name === name);
  return found !== undefined && found.problem !== null;
}
