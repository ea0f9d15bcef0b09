import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { savedCheckpointsQuery } from "../../api/queries";
import { Button } from "../../parts/Button";
import { Action } from "../../plans/Action";
import { useWhyNotPlan } from "../../session/me";
import { beginFields } from "../../streams/beginning";
import { isToRestart, streamPath, whyNotAbandon, whyNotDelete, whyNotRestart, whyNotStart, whyNotStop } from "../../streams/stream";
import type { TabProps } from "./StreamPage";

/** What can be done with a stream; each shows its plan first. */
export function StreamActions({ answer: { stream } }: TabProps) {
  const { name, running_version: runs, published } = stream;
  const body = { stream: name };
  const saved = useQuery(savedCheckpointsQuery(name)).data ?? [];
  const restarts = isToRestart(stream);
  return (
    <>
      {restarts ? (
        <Action verb="streams.restart" body={body} title={`Restart ${name}`} main={runs !== null && runs !== published} why={whyNotRestart(stream)}>
          Restart
        </Action>
      ) : (
        <Action verb="streams.start" body={body} title={`Start ${name}`} main why={whyNotStart(stream)}>
          Start
        </Action>
      )}
      <Action
        verb={restarts ? "streams.restart" : "streams.start"}
        body={body}
        title={`${restarts ? "Restart" : "Start"} ${name}`}
        asks={beginFields(stream, saved)}
        why={restarts ? whyNotRestart(stream) : whyNotStart(stream)}
      >
        {restarts ? "Restart from…" : "Start from…"}
      </Action>
      <Action verb="streams.stop" body={body} title={`Stop ${name}`} why={whyNotStop(stream)}>
        Stop
      </Action>
      {stream.state === "lost" ? (
        <Action verb="streams.abandon" body={body} title={`Abandon ${name}`} why={whyNotAbandon(stream)}>
          Abandon
        </Action>
      ) : null}
      <EditLink name={name} />
      <Action verb="streams.delete" body={body} title={`Delete ${name}`} why={whyNotDelete(stream)}>
        Delete
      </Action>
    </>
  );
}

export function EditLink({ name, version }: { name: string; version?: number }) {
  const why = useWhyNotPlan();
  if (why !== null) {
    return (
      <Button why={why} act={() => undefined}>
        Edit
      </Button>
    );
  }
  return (
    <Link className="button" href={`${streamPath(name, "edit")}${version === undefined ? "" : `?version=${version}`}`}>
      Edit
    </Link>
  );
}
