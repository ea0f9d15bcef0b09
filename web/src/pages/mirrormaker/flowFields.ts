import { useQuery } from "@tanstack/react-query";
import { clustersQuery } from "../../api/queries";
import type { Option } from "../../format/command";
import type { FieldSpec } from "../../plans/specs";

/** The two clusters between which MirrorMaker 2 copies, and what its properties call them. */
export function useFlowFields(): FieldSpec[] {
  const clusters = useQuery(clustersQuery).data?.clusters ?? [];
  const names = [["", "choose a cluster"], ...clusters.map((cluster) => [cluster.name, cluster.name] as const)] as const;
  return [
    { name: "source", label: "Source", kind: "choice", required: true, initial: "", choices: names, hint: "The cluster that MirrorMaker 2 reads." },
    { name: "target", label: "Target", kind: "choice", required: true, initial: "", choices: names },
    { name: "source_alias", label: "Alias of the source", kind: "text", hint: "As its properties have it; empty where its topics tell it." },
    { name: "target_alias", label: "Alias of the target", kind: "text", hint: "The same." },
    { name: "separator", label: "Separator", kind: "text", initial: ".", hint: "Its replication.policy.separator." },
  ];
}

export const flowOptions = (body: Readonly<Record<string, unknown>>): Option[] => [
  ["--source", body["source"] as string],
  ["--target", body["target"] as string],
  ["--source-alias", body["source_alias"] as string | undefined],
  ["--target-alias", body["target_alias"] as string | undefined],
  ["--separator", body["separator"] === "." ? undefined : (body["separator"] as string | undefined)],
];
