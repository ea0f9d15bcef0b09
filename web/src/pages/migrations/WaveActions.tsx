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
  const away = useIsAway(migration.source);
  const isAway = away === true;
  // What is asked depends on it: a dialog that is opened before has no way to go on without the source.
  const unknown = away === null ? `whether ${migration.source} answers is being asked` : null;
  const bodies: Record<string, object> = {
    start: { migration: document, waves: [wave.name] },
    switch: isAway ? body : { ...body, source_lost: false, unknown_groups: "refuse" },
    "give-up": isAway ? body : { ...body, source_lost: false },
  };
  const actions = actionsOf(wave).filter(({ verb }) => verb !== "switch" || isAway || !leadsBack(wave));
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
              why={verb === "switch" ? unknown : null}
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
          why={unknown ?? whyNotGivenUp(run, isAway)}
        >
          Give it up{of}
        </Action>
      )}
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

/** Whether a cluster did not answer when it was asked last; only then a switch may be asked for without it.
 *  Null until that is known. */
function useIsAway(name: string): boolean | null {
  const { data, isPending } = useQuery(clustersQuery);
  if (isPending) return null;
  const found = data?.clusters.find((cluster) => cluster.name === name);
  return found !== undefined && found.problem !== null;
}
