import type { ReactNode } from "react";

/** One field of what a verb asks for. */
export interface FieldSpec {
  name: string;
  label: string;
  /** `truth` is a choice of yes, no and neither. */
  kind: "text" | "lines" | "number" | "check" | "choice" | "truth";
  hint?: ReactNode;
  choices?: readonly (readonly [string, string])[];
  required?: boolean;
  initial?: string;
  /** Asked only where another field has this value. */
  when?: readonly [string, string];
  /** Sent as it is, and not shown. */
  given?: string;
  /** It chooses what else is asked, and is no part of the request. */
  local?: boolean;
}

export type Values = Readonly<Record<string, string>>;

/** What is asked, as far as the form is filled in. */
export const askedOf = (fields: readonly FieldSpec[], values: Values): readonly FieldSpec[] =>
  fields.filter(({ when }) => when === undefined || (values[when[0]] ?? "") === when[1]);

/** The body of a request: what is empty, or is not asked, is left out. */
export function bodyOf(fields: readonly FieldSpec[], values: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, kind, local, given } of askedOf(fields, values)) {
    if (local) continue;
    const text = (given ?? values[name] ?? "").trim();
    if (kind === "check") {
      if (text === "yes") body[name] = true;
    } else if (text !== "") {
      body[name] = kind === "lines" ? linesOf(text) : kind === "number" ? Number(text) : kind === "truth" ? text === "yes" : text;
    }
  }
  return body;
}

export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const groups: FieldSpec[] = [
  {
    name: "groups",
    label: "Groups",
    kind: "lines",
    hint: "Regular expressions that match whole names, one a line; none means every group that has committed what the link copies.",
  },
  { name: "exclude", label: "But not", kind: "lines", hint: "Regular expressions that win over those above." },
  { name: "topics", label: "Only commits of these source topics", kind: "lines", hint: "Regular expressions; empty for all." },
];

const where: FieldSpec = {
  name: "where",
  label: "Topic or partition",
  kind: "text",
  hint: "A topic, or a partition such as orders-3; empty for all that wait for a decision.",
};

const reason: FieldSpec = {
  name: "reason",
  label: "Reason",
  kind: "text",
  required: true,
  hint: "For those who look at the versions.",
};

/** How applications that run are moved to another cluster. */
const moving: FieldSpec[] = [
  {
    name: "stragglers",
    label: "Where a client does not pause in time",
    kind: "choice",
    initial: "cancel",
    choices: [
      ["cancel", "cancel: nothing is published"],
      ["leave", "leave: go on without it, where it is a producer"],
    ],
  },
  {
    name: "when_lost",
    label: "Where the cluster that they leave does not answer",
    kind: "choice",
    initial: "wait",
    choices: [
      ["wait", "wait: for it, or until it is given up"],
      ["go", "go: on without it, and tell what is in doubt"],
    ],
  },
  { name: "timeout_s", label: "Time to pause, in seconds", kind: "number", initial: "60", hint: "1 to 3,600." },
  {
    name: "at_once",
    label: "Publish at once",
    kind: "check",
    hint: "Nobody pauses, and no position is moved: groups go on where they have committed on the other cluster.",
  },
];

/** Why something is done, for those who look at it later. */
const why = (hint: string): FieldSpec => ({ name: "reason", label: "Reason", kind: "text", required: true, hint });

const granting: FieldSpec[] = [
  {
    name: "privilege",
    label: "Privilege",
    kind: "choice",
    initial: "read",
    choices: [
      ["read", "read: SELECT"],
      ["write", "write: INSERT INTO, without reading"],
      ["manage", "manage: both, and change, drop and grant"],
    ],
  },
  { name: "principal", label: "For whom", kind: "text", required: true, hint: "user:NAME or group:NAME." },
];

/** What each verb asks for beside the link that it is about. */
export const FIELDS: Readonly<Record<string, readonly FieldSpec[]>> = {
  "links.set": [
    { name: "include", label: "Topics", kind: "lines", hint: "Regular expressions that match whole names, one a line." },
    { name: "exclude", label: "But not", kind: "lines", hint: "Regular expressions that win over those above." },
    {
      name: "rate_limit",
      label: "Rate limit",
      kind: "text",
      hint: "Bytes a second over all lanes, such as 50MB/s; none takes the limit away.",
    },
    {
      name: "sync_groups",
      label: "Groups to keep in sync",
      kind: "lines",
      hint: "Regular expressions that match whole names, one a line, in place of those that are; none ends it.",
    },
    { name: "sync_interval", label: "How often", kind: "text", hint: "From 1s to 1h." },
    {
      name: "checkpoints",
      label: "Checkpoints as MirrorMaker 2 publishes them",
      kind: "truth",
      initial: "",
      choices: [
        ["", "as it is"],
        ["yes", "publish them"],
        ["no", "publish none"],
      ],
      hint: "Of the groups that are kept in sync.",
    },
  ],
  "links.accept": [
    where,
    { name: "at", label: "Offset", kind: "number", hint: "Where to go on; empty for where the link itself would." },
  ],
  "links.abort-transaction": [
    { ...where, label: "Partition", required: true, hint: "A source partition such as orders-3." },
    { name: "producer_id", label: "Producer id", kind: "number", hint: "Of the transaction, where there are several." },
  ],
  "links.stop": [
    {
      name: "wait_s",
      label: "Wait for its end, in seconds",
      kind: "number",
      initial: "60",
      hint: "0 asks, and waits for nothing.",
    },
  ],
  "links.wait": [
    {
      name: "timeout_s",
      label: "Wait at most, in seconds",
      kind: "number",
      initial: "3600",
      hint: "Up to 86,400, which is a day.",
    },
    { name: "lag", label: "Records that each lane may still lag", kind: "number", hint: "Empty for none." },
  ],
  "groups.baseline": groups,
  "groups.sync": groups,
  "groups.create": [
    { name: "group", label: "Group", kind: "text", required: true },
    { name: "topics", label: "Topics of the target", kind: "lines", required: true, hint: "One a line." },
    {
      name: "start",
      label: "Begins at",
      kind: "text",
      initial: "earliest",
      hint: "earliest, latest, a time with its zone such as 2026-11-23T01:00:00Z, group:NAME, or TOPIC-PARTITION:OFFSET with commas between them.",
    },
  ],
  "groups.undo": [
    {
      name: "undo",
      label: "Undo record",
      kind: "text",
      required: true,
      hint: "Its id, as the move's report has it.",
    },
  ],
  "migrations.cancel": [
    {
      name: "purge",
      label: "Delete the topics that the migration made on the target",
      kind: "check",
      hint: "With all that is in them. Topics that were there before it stay, without its copies.",
    },
  ],
  "migrations.switch": [
    {
      name: "source_lost",
      label: "The source is gone: go on from what was copied",
      kind: "check",
      hint: "Nothing is asked of it; what may be lost is named, and there is no way back until it is reconciled.",
    },
    {
      name: "unknown_groups",
      label: "Groups of which nothing is known without the source",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse: they forbid the switch"],
        ["earliest", "earliest: they read all again"],
        ["latest", "latest: they go on after what was copied"],
      ],
    },
  ],
  "migrations.reverse": [
    {
      name: "target_lost",
      label: "The target is gone: go on from what was copied back",
      kind: "check",
      hint: "Nothing is asked of it; what may be lost is named, and there is no way there until it is reconciled.",
    },
    {
      name: "unknown_groups",
      label: "Groups of which nothing is known without the target",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse: they forbid going back"],
        ["earliest", "earliest: they read all again"],
        ["latest", "latest: they go on after what was copied"],
      ],
    },
  ],
  "migrations.reconcile": [
    {
      name: "tail",
      label: "Records that the lost cluster has and that were not copied",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse: they forbid it"],
        ["keep", "keep: they stay where they are"],
        ["append", "append: they are copied after what was written since"],
      ],
      hint: "Where there are none the way back is made.",
    },
  ],
  "migrations.give-up": [
    why("For those who look at the run."),
    {
      name: "source_lost",
      label: "The source is gone: end it without",
      kind: "check",
      hint: "What only the source would hear of is left out, and named; it ends also after its point of no return.",
    },
    {
      name: "target_lost",
      label: "The target is gone: end it without",
      kind: "check",
      hint: "The same for what only the target would hear of.",
    },
  ],
  "migrations.throttle": [
    {
      name: "how",
      label: "Its links that read the source",
      kind: "choice",
      local: true,
      initial: "rate",
      choices: [
        ["rate", "copy more slowly"],
        ["pause", "copy nothing"],
      ],
      hint: "Until it is resumed; links back are not slowed down.",
    },
    { name: "rate", label: "Rate", kind: "text", required: true, when: ["how", "rate"], hint: "Bytes a second of all of them together, such as 50MB/s." },
    { name: "pause", label: "Copy nothing", kind: "check", given: "yes", when: ["how", "pause"] },
  ],
  "migrations.hold": [why("For those who would switch it.")],
  "mirrormaker.publish": [
    { name: "source_alias", label: "Alias of the source", kind: "text", hint: "What MirrorMaker 2 would call it; empty for the source's context." },
    { name: "separator", label: "Separator", kind: "text", initial: ".", hint: "Its replication.policy.separator." },
  ],
  "routes.apply": [reason, ...moving],
  "routes.rollback": [reason, ...moving],
  "routes.cancel": [why("For those who look at the switches, and for its clients.")],
  "streams.checkpoint": [{ name: "save", label: "Name", kind: "text", required: true, hint: "Letters, digits, dots, - and _; 60 at most." }],
  "catalog.drop": [
    {
      name: "topic",
      label: "Delete its Kafka topic, too",
      kind: "check",
      hint: "With all its records; one that was there before the table takes an admin.",
    },
  ],
  "catalog.grant": granting,
  "catalog.revoke": granting,
  "catalog.set": [
    { name: "owner", label: "Owner", kind: "text", hint: "An account or group, such as user:mei or group:shop; empty leaves it." },
    { name: "description", label: "Description", kind: "text", hint: "Empty leaves it." },
  ],
  "catalog.group": [
    { name: "group", label: "Group", kind: "text", required: true },
    { name: "add", label: "Add these accounts", kind: "lines", hint: "One a line." },
    { name: "remove", label: "Take these out", kind: "lines", hint: "One a line." },
  ],
  "verify.start": [
    {
      name: "reader",
      label: "Read",
      kind: "choice",
      initial: "records",
      choices: [
        ["records", "records: decode and compare each"],
        ["batches", "batches: compare undecoded where that is possible"],
      ],
    },
    {
      name: "levels",
      label: "Isolation levels of the target",
      kind: "choice",
      initial: "both",
      choices: [
        ["both", "both"],
        ["committed", "read committed alone"],
      ],
    },
    { name: "rate_limit", label: "Rate limit", kind: "text", hint: "Bytes a second, such as 50MB/s; empty for none." },
    { name: "samples", label: "Samples", kind: "number", initial: "20", hint: "How many differing records are kept, 0 to 1,000." },
    { name: "show_values", label: "Show values", kind: "check", hint: "Samples hold keys and values as they are; else they are masked." },
    { name: "fresh", label: "From the start", kind: "check", hint: "Compare everything again, not from where the last comparison ended." },
  ],
};

const DANGER = new Set([
  "links.delete",
  "links.accept",
  "links.abort-transaction",
  "migrations.cancel",
  "migrations.complete",
  "migrations.give-up",
  "routes.cancel",
  "streams.abandon",
  "streams.delete",
  "artifacts.delete",
  "catalog.drop",
  "catalog.revoke",
]);
export const isDanger = (verb: string): boolean => DANGER.has(verb);
