import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { clustersQuery, linksQuery } from "../../api/queries";
import { partitionOf } from "../../format/partitions";
import type { FieldSpec } from "../../plans/specs";
import { Roots } from "./Roots";

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

/** Has offsets and new names as the service takes them; says which line is unclear, null where none is. */
export function spelledOut(body: Record<string, unknown>): string | null {
  const { offsets, rename } = body as { offsets?: string[]; rename?: string[] };
  if (offsets !== undefined) {
    const found: Record<string, Record<string, number>> = {};
    for (const line of offsets) {
      const [, where = "", offset = ""] = /^(.*):(\d+)$/.exec(line) ?? [];
      const at = partitionOf(where);
      if (at === null || !Number.isSafeInteger(Number(offset))) return `${line}: not TOPIC-PARTITION:OFFSET, such as orders-3:120`;
      const partitions = (found[at.topic] ??= {});
      if (at.partition in partitions) return `${line}: ${where} is given twice`;
      partitions[at.partition] = Number(offset);
    }
    body["offsets"] = found;
  }
  if (rename !== undefined) {
    const found: Record<string, string> = {};
    for (const line of rename) {
      const [old = "", name = "", more] = line.split("=");
      if (old === "" || name === "" || more !== undefined || old in found) return `${line}: not OLD=NEW, each topic once`;
      found[old] = name;
    }
    body["rename"] = found;
  }
  return null;
}

/** Words that mean what is usual anyway. */
export function withoutUsual(body: Record<string, unknown>): Record<string, unknown> {
  for (const name of ["uncommitted", "transactions", "stop_savepoint"]) {
    if (body[name] === "refuse") delete body[name];
  }
  return body;
}
