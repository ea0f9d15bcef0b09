import { useQueries } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import type { Problem } from "../../api/problem";
import type { Schemas } from "../../api/client";
import { lanesQuery, type LanesAsked } from "../../api/queries";

const PAGE = 100;

export interface LanePages {
  total: number | undefined;
  matching: number | undefined;
  readAt: number | undefined;
  problem: Problem | null | undefined;
  error: unknown;
  lane: (index: number) => Schemas["LaneProgress"] | undefined;
  /** Say which rows are in sight: their pages are asked for, and asked again when the cluster was read. */
  see: (first: number, last: number) => void;
  again: () => void;
}

/** The lanes of a link, a page at a time, as they come into sight. */
export function useLanePages(target: string, link: string, asked: LanesAsked): LanePages {
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const wanted = Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index);
  const found = useQueries({
    queries: wanted.map((page) => lanesQuery(target, link, asked, page * PAGE, PAGE)),
  });
  // What was known last stays while other lanes are asked for, so that nothing jumps.
  const known = useRef<Schemas["LanesPage"] | undefined>(undefined);
  const newest = found.reduce<Schemas["LanesPage"] | undefined>(
    (best, { data }) => (data && (!best || data.read_at_ms >= best.read_at_ms) ? data : best),
    undefined,
  );
  if (newest !== undefined) known.current = newest;
  const see = useCallback((first: number, last: number) => {
    const next = [Math.floor(Math.max(0, first) / PAGE), Math.floor(Math.max(0, last) / PAGE)] as const;
    setRange((before) => (before[0] === next[0] && before[1] === next[1] ? before : next));
  }, []);
  return {
    total: known.current?.total,
    matching: known.current?.matching,
    readAt: known.current?.read_at_ms,
    problem: known.current?.problem,
    error: found.find((query) => query.isError)?.error,
    lane: (index) => {
      const page = Math.floor(index / PAGE) - range[0];
      return found[page]?.data?.lanes[index % PAGE];
    },
    see,
    again: () => {
      for (const query of found) void query.refetch();
    },
  };
}
