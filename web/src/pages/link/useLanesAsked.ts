import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { EVERY_LANE, type LanesAsked } from "../../api/queries";
import type { Schemas } from "../../api/client";

export const LANE_STATES = ["following", "copying", "waiting", "unreachable", "paused", "stopped"] as const satisfies readonly Schemas["LaneState"][];
const ORDERS = ["source", "target", "state", "lag_records", "lag_seconds", "records_per_s", "bytes_per_s"] as const satisfies readonly Schemas["LaneOrder"][];

const one = <T extends string>(value: string | null, known: readonly T[], usual: T): T =>
  known.find((word) => word === value) ?? usual;

/** Which lanes are asked for: the page's address has it, so that it can be sent to somebody. */
export function useLanesAsked(): [LanesAsked, (change: Partial<LanesAsked>) => void] {
  const [search, setSearch] = useSearchParams();
  const key = search.toString();
  const asked = useMemo<LanesAsked>(() => {
    const found = new URLSearchParams(key);
    const mode = found.get("mode");
    return {
      text: found.get("text") ?? "",
      state: LANE_STATES.filter((state) => found.getAll("state").includes(state)),
      mode: mode === "identity" || mode === "mapped" ? mode : "",
      sort: one(found.get("sort"), ORDERS, EVERY_LANE.sort),
      descending: found.get("descending") === "true",
    };
  }, [key]);
  const change = (wanted: Partial<LanesAsked>) => {
    const next = { ...asked, ...wanted };
    const found = new URLSearchParams();
    if (next.text) found.set("text", next.text);
    for (const state of next.state) found.append("state", state);
    if (next.mode) found.set("mode", next.mode);
    if (next.sort !== "source") found.set("sort", next.sort);
    if (next.descending) found.set("descending", "true");
    setSearch(found, { replace: true });
  };
  return [asked, change];
}
