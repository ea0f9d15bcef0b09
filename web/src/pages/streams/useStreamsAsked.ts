import { useSearchParams } from "wouter";
import { STATES, totalsOf, type Stream, type StreamState } from "../../streams/stream";

export const ORDERS = ["name", "kind", "state", "version", "rate", "lag", "batch", "watermark", "starts"] as const;
export type Order = (typeof ORDERS)[number];

export interface StreamsAsked {
  text: string;
  state: StreamState | "";
  order: Order;
  descending: boolean;
}

export const EVERY_STREAM: StreamsAsked = { text: "", state: "", order: "state", descending: false };

/** Which streams are shown in which order: the page's address has it, so that it can be sent to somebody. */
export function useStreamsAsked(): [StreamsAsked, (change: Partial<StreamsAsked>) => void] {
  const [search, setSearch] = useSearchParams();
  const state = STATES.find((one) => one === search.get("state")) ?? "";
  const order = ORDERS.find((one) => one === search.get("sort")) ?? EVERY_STREAM.order;
  const asked: StreamsAsked = { text: search.get("text") ?? "", state, order, descending: search.get("descending") === "true" };
  const change = (wanted: Partial<StreamsAsked>) => {
    const next = { ...asked, ...wanted };
    const found = new URLSearchParams();
    if (next.text) found.set("text", next.text);
    if (next.state) found.set("state", next.state);
    if (next.order !== EVERY_STREAM.order) found.set("sort", next.order);
    if (next.descending) found.set("descending", "true");
    setSearch(found, { replace: true });
  };
  return [asked, change];
}

export const isAsked = (asked: StreamsAsked): boolean => asked.text !== "" || asked.state !== "";

const KEYS: Record<Order, (stream: Stream) => number | string> = {
  name: () => "",
  kind: (stream) => stream.kind,
  state: (stream) => STATES.indexOf(stream.state),
  version: (stream) => stream.running_version ?? stream.published,
  rate: (stream) => totalsOf(stream.queries).rate ?? -1,
  lag: (stream) => totalsOf(stream.queries).lag ?? -1,
  batch: (stream) => totalsOf(stream.queries).batchMs ?? -1,
  watermark: (stream) => totalsOf(stream.queries).watermark ?? "",
  starts: (stream) => stream.starts,
};

/** Those that are asked for, in their order; equal ones by their names. */
export function sortedStreams(streams: readonly Stream[], { text, state, order, descending }: StreamsAsked): readonly Stream[] {
  const wanted = text.toLowerCase();
  const key = KEYS[order];
  const found = streams
    .filter((one) => state === "" || one.state === state)
    .filter((one) => `${one.name} ${one.kind} ${one.owner} ${one.description}`.toLowerCase().includes(wanted));
  const turn = descending ? -1 : 1;
  return [...found].sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    const by = one === other ? 0 : one < other ? -turn : turn;
    return by || (order === "name" ? turn : 1) * a.name.localeCompare(b.name);
  });
}
