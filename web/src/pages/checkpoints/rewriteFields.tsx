import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { clustersQuery, linksQuery } from "../../api/queries";
import type { FieldSpec } from "../../plans/specs";
import { Roots } from "./Roots";

/** Where positions lead, beside links: what a rewrite, its proof and advice ask for alike. */
export const LEADING: readonly FieldSpec[] = [
  {
    name: "maps",
    label: "Route: a file of maps, instead of links",
    kind: "text",
    hint: "As offsets rebuild or offsets export wrote it, below one of the directories, or where offsets.rebuild left it.",
  },
  {
    name: "offsets",
    label: "Route: offsets on the target, instead of links",
    kind: "lines",
    hint: "TOPIC-PARTITION:OFFSET, the next record to read, one a line.",
  },
  {
    name: "start",
    label: "Route: start position, instead of links",
    kind: "text",
    hint: "earliest, latest, a time with its zone, or group:NAME.",
  },
  {
    name: "rename",
    label: "New names of topics",
    kind: "lines",
    hint: "OLD=NEW, one a line; for offsets and start positions, since links and maps tell them.",
  },
  { name: "sources", label: "Only these sources", kind: "lines", hint: "Ids as a look at the checkpoint has them; empty for all that read Kafka." },
  { name: "stay", label: "Topics that stay", kind: "lines", hint: "Their positions are kept as they are." },
  {
    name: "dynamic",
    label: "Clusters of a DynamicKafkaSource",
    kind: "lines",
    hint: "OLD=NEW@HOST:PORT, new id and servers, one a line. Flink.",
  },
];

/** What a rewrite and its proof ask for alike: where positions lead, and what is done with the rest. */
export function useRewriteFields(roots: readonly string[]): FieldSpec[] {
  const links = useQuery(linksQuery).data?.links ?? [];
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const [search] = useSearchParams();
  const names = links.map((link) => link.id).join(", ");
  return [
    {
      name: "path",
      label: "Checkpoint",
      kind: "text",
      required: true,
      initial: search.get("path") ?? "",
      hint: <Roots roots={roots} />,
    },
    {
      name: "target",
      label: "Target",
      kind: "choice",
      required: true,
      initial: search.get("target") ?? "",
      choices: [["", "choose a cluster"], ...clusters.map((cluster) => [cluster.name, cluster.name] as const)],
      hint: "The cluster that the job reads from then on.",
    },
    {
      name: "links",
      label: "Route: links",
      kind: "lines",
      initial: search.get("link") ?? "",
      hint: `Whose offset maps lead there, one a line${names ? `; known: ${names}` : ""}.`,
    },
    ...LEADING,
    {
      name: "split",
      label: "Sources that become several",
      kind: "lines",
      hint: "ID=T1,T2|T3 by topics, or ID=NAME:T1|NAME:T2 where sources have names, one a line. Spark.",
    },
    { name: "merge", label: "Sources that become one", kind: "lines", hint: "ID,ID, one merged source a line. Spark." },
    { name: "drop", label: "Sources that are taken out", kind: "lines", hint: "Ids, one a line. Flink." },
    {
      name: "uncommitted",
      label: "A batch that is not committed",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["translate", "translate: the job repeats it"],
      ],
    },
    {
      name: "transactions",
      label: "Pending transactions of a sink",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["discard", "discard"],
        ["keep", "keep"],
      ],
    },
    {
      name: "stop_savepoint",
      label: "A savepoint made by stop",
      kind: "choice",
      initial: "refuse",
      choices: [
        ["refuse", "refuse"],
        ["translate", "translate"],
      ],
    },
  ];
}
