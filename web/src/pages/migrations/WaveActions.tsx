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
  const isAway = useIsAway(migration.source);
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
          why={whyNotGivenUp(run, isAway)}
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

/** Whether a cluster did not answer when it was asked last; only then a switch may be asked for without it. */
function useIsAway(name: string): boolean {
  const found = useQuery(clustersQuery).data?.clusters.find((cluster) => cluster.name === name);
  return found !== undefined && found.problem !== null;
}
