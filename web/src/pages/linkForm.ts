import { linesOf, type FieldSpec, type Values } from "../plans/specs";

export const NAMES: readonly FieldSpec[] = [
  { name: "id", label: "Id", kind: "text", hint: "Lower case letters, digits, - and _; empty for SOURCE-TARGET." },
];

export const TOPICS: readonly FieldSpec[] = [
  { name: "include", label: "Topics", kind: "lines", hint: "Regular expressions that match whole names, one a line; empty for all." },
  { name: "exclude", label: "But not", kind: "lines", hint: "They win over those above; empty for the usual internal topics." },
  {
    name: "naming",
    label: "Names on the target",
    kind: "choice",
    initial: "identity",
    choices: [
      ["identity", "identity: the same name"],
      ["prefix", "prefix: the source's name before it"],
      ["template", "template"],
    ],
  },
  { name: "separator", label: "Separator of a prefix", kind: "text", hint: "Empty for a dot." },
  { name: "template", label: "Template", kind: "text", hint: "Text with {topic} once and {source}." },
];

export const COPYING: readonly FieldSpec[] = [
  {
    name: "start",
    label: "Start",
    kind: "text",
    initial: "earliest",
    hint: "earliest, latest, a time with its zone, milliseconds since 1970, or group:NAME.",
  },
  {
    name: "mode",
    label: "Mode",
    kind: "choice",
    initial: "auto",
    choices: [
      ["auto", "auto: equal offsets where that is safe"],
      ["mapped", "mapped: never"],
    ],
  },
  { name: "rate_limit", label: "Rate limit", kind: "text", hint: "Bytes a second over all lanes, such as 50MB/s; empty for none." },
  { name: "replication_factor", label: "Replication factor", kind: "number", hint: "Of target topics; empty for the target brokers' default." },
  { name: "lease_seconds", label: "Lease in seconds", kind: "number", initial: "300", hint: "How long workers keep their lanes, 1 to 3,600." },
  { name: "back_of", label: "The way back of", kind: "text", hint: "Id of a paused link from the target into the source: go on where its copies end, with its map. Empty for a new copy." },
  { name: "shared_topics", label: "Copy also into target topics that another link fills", kind: "check" },
];

export const CONFIGS: readonly FieldSpec[] = [
  { name: "allow", label: "Topic configs that follow the source", kind: "lines", hint: "Regular expressions; empty for all." },
  { name: "deny", label: "But not", kind: "lines", hint: "They win over those above; empty for the usual ones." },
];

export const GROUPS: readonly FieldSpec[] = [
  { name: "groups", label: "Groups to keep in sync", kind: "lines", hint: "Regular expressions that match whole names; empty for none." },
  { name: "groups_exclude", label: "But not", kind: "lines" },
  { name: "interval", label: "How often", kind: "text", initial: "10s", hint: "From 1s to 1h." },
  { name: "checkpoints", label: "Publish checkpoints as MirrorMaker 2 does", kind: "check" },
];

export const ADOPTING: readonly FieldSpec[] = [
  {
    name: "adopt",
    label: "File of maps to adopt",
    kind: "text",
    hint: "Of the service's machine, as offsets.rebuild left it: the link goes on where the copies end. Empty for a new copy.",
  },
];

const some = (entries: readonly (readonly [string, unknown])[]): Record<string, unknown> | undefined => {
  const found = entries.filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0));
  return found.length ? Object.fromEntries(found) : undefined;
};

/** A link as in a link file; what is as usual is left out. */
export function linkOf(values: Values): Record<string, unknown> {
  const text = (name: string) => (values[name] ?? "").trim();
  const lines = (name: string) => linesOf(values[name] ?? "");
  const number = (name: string) => (text(name) === "" ? undefined : Number(text(name)));
  const naming = text("naming");
  const groups = lines("groups");
  const start = text("start");
  return {
    source: text("source"),
    target: text("target"),
    ...some([
      ["id", text("id")],
      ["filter", some([["include", lines("include")], ["exclude", lines("exclude")]])],
      [
        "naming",
        naming === "identity"
          ? undefined
          : {
              kind: naming,
              ...(naming === "prefix" ? some([["separator", text("separator")]]) : some([["template", text("template")]])),
            },
      ],
      ["start", start === "earliest" ? undefined : /^\d+$/.test(start) ? Number(start) : start],
      ["mode", text("mode") === "auto" ? undefined : text("mode")],
      ["rate_limit", text("rate_limit")],
      ["replication_factor", number("replication_factor")],
      ["lease_seconds", number("lease_seconds") === 300 ? undefined : number("lease_seconds")],
      ["back_of", text("back_of")],
      ["shared_topics", text("shared_topics") === "yes" ? true : undefined],
      ["configs", some([["allow", lines("allow")], ["deny", lines("deny")]])],
      [
        "groups",
        groups.length === 0
          ? undefined
          : {
              include: groups,
              ...some([
                ["exclude", lines("groups_exclude")],
                ["interval", text("interval") === "10s" ? undefined : text("interval")],
                ["checkpoints", text("checkpoints") === "yes" ? true : undefined],
              ]),
            },
      ],
    ]),
  };
}
