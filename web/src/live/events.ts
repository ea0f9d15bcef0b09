import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

/** Whether the service tells what happens: `live`, or this page asks every few seconds. */
export type Hearing = "live" | "asking";

const GATHER_MS = 900;
const AGAIN_MS = 3_000;
/** Steps that are quick come one after the other: they are asked for together. */
const STEPS_MS = 150;

class Stream {
  private source: EventSource | undefined;
  private again: ReturnType<typeof setTimeout> | undefined;
  private gathering: ReturnType<typeof setTimeout> | undefined;
  private stepping: ReturnType<typeof setTimeout> | undefined;
  private changing: ReturnType<typeof setTimeout> | undefined;
  private progressing: ReturnType<typeof setTimeout> | undefined;
  private readonly read = new Set<string>();
  private asking: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly queries: QueryClient,
    private readonly hears: (hearing: Hearing) => void,
  ) {}

  open(): void {
    this.close();
    const source = new EventSource("/api/v1/events");
    this.source = source;
    source.addEventListener("open", () => {
      this.stopAsking();
      this.hears("live");
    });
    source.addEventListener("cluster", (event) => this.gather((JSON.parse(event.data) as { name: string }).name));
    source.addEventListener("operation", () => {
      void this.queries.invalidateQueries({ queryKey: ["operations"] });
      void this.queries.invalidateQueries({ queryKey: ["plans"] });
    });
    source.addEventListener("process", () => void this.queries.invalidateQueries({ queryKey: ["processes"] }));
    source.addEventListener("routes", () => {
      void this.queries.invalidateQueries({ queryKey: ["routes"] });
      void this.queries.invalidateQueries({ queryKey: ["clients"] });
    });
    source.addEventListener("switch", () => void this.queries.invalidateQueries({ queryKey: ["switches"] }));
    source.addEventListener("migration", () => this.stepped());
    source.addEventListener("stream", () => this.changed());
    source.addEventListener("stream-progress", () => this.progressed());
    source.addEventListener("audit", () => void this.queries.invalidateQueries({ queryKey: ["audit"] }));
    source.addEventListener("lost", () => {
      void this.queries.invalidateQueries();
      this.open();
    });
    source.addEventListener("signed-out", () => this.ended());
    source.addEventListener("error", () => this.ended());
  }

  close(): void {
    clearTimeout(this.again);
    clearTimeout(this.gathering);
    this.gathering = undefined;
    clearTimeout(this.stepping);
    this.stepping = undefined;
    clearTimeout(this.changing);
    this.changing = undefined;
    clearTimeout(this.progressing);
    this.progressing = undefined;
    this.stopAsking();
    this.source?.close();
    this.source = undefined;
  }

  /** A page that was not looked at for long: its stream may be dead without having said so. */
  wake(): void {
    void this.queries.invalidateQueries({ queryKey: ["me"] });
    void this.queries.invalidateQueries({ queryKey: ["live"] });
    void this.queries.invalidateQueries({ queryKey: ["migrations"] });
    void this.queries.invalidateQueries({ queryKey: ["streams"] });
    if (this.source?.readyState !== EventSource.OPEN) this.open();
  }

  private ended(): void {
    this.source?.close();
    this.hears("asking");
    void this.queries.invalidateQueries({ queryKey: ["me"] });
    clearTimeout(this.again);
    this.again = setTimeout(() => this.open(), AGAIN_MS);
    this.asking ??= setInterval(() => void this.queries.invalidateQueries({ queryKey: ["live"] }), AGAIN_MS);
  }

  private stopAsking(): void {
    clearInterval(this.asking);
    this.asking = undefined;
  }

  private stepped(): void {
    this.stepping ??= setTimeout(() => {
      this.stepping = undefined;
      void this.queries.invalidateQueries({ queryKey: ["migrations"] });
    }, STEPS_MS);
  }

  /** A stream's state, versions or runs are others. */
  private changed(): void {
    this.changing ??= setTimeout(() => {
      this.changing = undefined;
      void this.queries.invalidateQueries({ queryKey: ["streams"] });
    }, STEPS_MS);
  }

  /** Streams do a micro-batch each second: their figures are asked for together. */
  private progressed(): void {
    this.progressing ??= setTimeout(() => {
      this.progressing = undefined;
      if (document.visibilityState === "hidden") return;
      void this.queries.invalidateQueries({ queryKey: ["streams"] });
    }, GATHER_MS);
  }

  private gather(cluster: string): void {
    this.read.add(cluster);
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      const names = new Set(this.read);
      this.read.clear();
      if (document.visibilityState === "hidden") return;
      void this.queries.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === "live" && (queryKey[1] === "*" || names.has(queryKey[1] as string)),
      });
    }, GATHER_MS);
  }
}

/** Listen while this is mounted. */
export function useEvents(): Hearing {
  const queries = useQueryClient();
  const [hearing, setHearing] = useState<Hearing>("asking");
  useEffect(() => {
    const stream = new Stream(queries, setHearing);
    stream.open();
    const seen = () => {
      if (document.visibilityState === "visible") stream.wake();
    };
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("online", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("online", seen);
      stream.close();
    };
  }, [queries]);
  return hearing;
}
