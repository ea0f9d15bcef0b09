import { useCallback, useEffect, useRef, useState } from "react";
import { client, told, type Schemas } from "../api/client";
import { problemFrom, unreachable, type Problem } from "../api/problem";

export type Trial = Schemas["TrialAnswer"];
export type TriedQuery = Schemas["TriedQuery"];
export type TrialAsked = Partial<Schemas["TrialRequest"]> & Pick<Schemas["TrialRequest"], "kind">;

export interface Trying {
  trial: Trial | null;
  rows: readonly (readonly unknown[])[];
  /** Why it was not begun, or why the service tells nothing more of it. */
  problem: Problem | null;
  isAsking: boolean;
  ask: (asked: TrialAsked) => void;
  stop: () => void;
}

const NOTHING: readonly (readonly unknown[])[] = [];
const OVER = new Set(["finished", "failed", "stopped"]);

export const isOver = (trial: Trial): boolean => OVER.has(trial.state);

/** One look at a script at a time: what is told of it as it comes.  Another one, or another page, ends it. */
export function useTrial(): Trying {
  const [trial, setTrial] = useState<Trial | null>(null);
  const [rows, setRows] = useState(NOTHING);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isAsking, setAsking] = useState(false);
  const source = useRef<EventSource | null>(null);
  const open = useRef("");
  const turn = useRef(0);

  const leave = useCallback(() => {
    source.current?.close();
    source.current = null;
    if (open.current) void client.DELETE("/api/v1/trials/{trial_id}", { params: { path: { trial_id: open.current } } }).catch(() => undefined);
    open.current = "";
  }, []);
  useEffect(
    () => () => {
      turn.current += 1;
      leave();
    },
    [leave],
  );

  const listen = useCallback((id: string) => {
    const found = new EventSource(`/api/v1/trials/${id}/events`);
    source.current = found;
    const take = (event: MessageEvent<string>) => setTrial(JSON.parse(event.data) as Trial);
    found.addEventListener("trial", take);
    found.addEventListener("rows", (event) => {
      const { from, rows: next } = JSON.parse(event.data) as { from: number; rows: unknown[][] };
      setRows((before) => [...before.slice(0, from), ...next]);
    });
    found.addEventListener("ended", (event) => {
      found.close();
      open.current = "";
      take(event);
    });
    const lost = () => {
      found.close();
      open.current = "";
      setProblem({ ...unreachable(), detail: "the service tells nothing more of it", hint: "look at it again; if this page was left alone for long, it was ended" });
    };
    for (const name of ["signed-out", "ending"]) found.addEventListener(name, lost);
    found.addEventListener("error", () => {
      // The browser opens it again by itself, and goes on behind the rows that it has, unless it was refused.
      if (found.readyState === EventSource.CLOSED) lost();
    });
  }, []);

  const ask = useCallback(
    (asked: TrialAsked) => {
      leave();
      const mine = (turn.current += 1);
      setTrial(null);
      setRows(NOTHING);
      setProblem(null);
      setAsking(true);
      told(client.POST("/api/v1/trials", { body: asked as Schemas["TrialRequest"] }))
        .then((found) => {
          const begun = found as Trial;
          if (mine !== turn.current) {
            void client.DELETE("/api/v1/trials/{trial_id}", { params: { path: { trial_id: begun.id } } }).catch(() => undefined);
            return;
          }
          setTrial({ ...begun, rows: [] });
          setRows(begun.rows);
          if (isOver(begun)) return;
          open.current = begun.id;
          listen(begun.id);
        })
        .catch((error: unknown) => {
          if (mine === turn.current) setProblem(problemFrom(error));
        })
        .finally(() => {
          if (mine === turn.current) setAsking(false);
        });
    },
    [leave, listen],
  );

  const stop = useCallback(() => {
    const id = open.current;
    if (id) void client.DELETE("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } } }).catch(() => undefined);
  }, []);
  return { trial, rows, problem, isAsking, ask, stop };
}

/** What stopped a script, as a problem that an editor shows at its line. */
export function problemOfTrial({ problems: [first] }: Trial): Problem | null {
  if (first === undefined) return null;
  return {
    type: "urn:anabranch:problem:script",
    title: "script",
    status: 422,
    detail: first.message,
    hint: first.hint,
    retryable: false,
    exit_code: first.exit_code,
    field: first.line === null ? null : "script",
    place: { statement: first.statement, line: first.line, column: first.column, excerpt: first.excerpt },
  };
}
