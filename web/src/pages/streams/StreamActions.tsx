import { Link } from "wouter";
import { Button } from "../../parts/Button";
import { Action } from "../../plans/Action";
import { useWhyNotPlan } from "../../session/me";
import { streamPath, whyNotDelete, whyNotRestart, whyNotStart, whyNotStop } from "../../streams/stream";
import type { TabProps } from "./StreamPage";

/** What can be done with a stream; each shows its plan first. */
export function StreamActions({ answer: { stream } }: TabProps) {
  const { name, wanted, state, running_version: runs, published } = stream;
  const body = { stream: name };
  return (
    <>
      {wanted === "running" && state !== "failed" ? (
        <Action verb="streams.restart" body={body} title={`Restart ${name}`} main={runs !== null && runs !== published} why={whyNotRestart(stream)}>
          Restart
        </Action>
      ) : (
        <Action verb="streams.start" body={body} title={`Start ${name}`} main why={whyNotStart(stream)}>
          Start
        </Action>
      )}
      <Action verb="streams.stop" body={body} title={`Stop ${name}`} why={whyNotStop(stream)}>
        Stop
      </Action>
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
