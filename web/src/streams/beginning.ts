import type { Schemas } from "../api/client";
import type { FieldSpec } from "../plans/specs";
import type { Stream } from "./stream";

export type SavedCheckpoint = Schemas["SavedCheckpointAnswer"];

/** What is asked of a start that is not to go on as it would by itself: what it goes on with, and from where. */
export function beginFields({ kind }: Pick<Stream, "kind">, saved: readonly SavedCheckpoint[]): readonly FieldSpec[] {
  return [
    {
      name: "begins",
      label: "Each query begins",
      kind: "choice",
      local: true,
      initial: "last",
      choices: [
        ["last", "where its checkpoint is, as by itself"],
        ...(saved.length ? ([["saved", "at a saved checkpoint"]] as const) : []),
        ["position", "again at a position, with an empty state"],
      ],
      hint: "Nothing is taken away: what each of them begins with is another checkpoint, beside the one that there is.",
    },
    ...(kind === "pyspark" ? [] : [STATE]),
    {
      name: "checkpoint",
      label: "Saved checkpoint",
      kind: "choice",
      when: ["begins", "saved"],
      initial: saved[0]?.name ?? "",
      choices: saved.map(({ name, version }) => [name, `${name}, of version ${version}`]),
      hint: "What was written since is written again.",
    },
    {
      name: "start",
      label: "Position",
      kind: "text",
      required: true,
      when: ["begins", "position"],
      hint: "earliest, latest, a time with its zone such as 2026-11-23T01:00:00Z, group:NAME, or TOPIC-PARTITION:OFFSET with commas between them.",
    },
  ];
}

const STATE: FieldSpec = {
  name: "state",
  label: "A query whose state does not fit the version, or means something else in it",
  kind: "choice",
  when: ["begins", "last"],
  initial: "refuse",
  choices: [
    ["refuse", "refuse: nothing is started, and the reason is told"],
    ["new", "new: it goes on at its records, with an empty state"],
    ["keep", "keep: where its state only means something else, it goes on with it"],
  ],
};
