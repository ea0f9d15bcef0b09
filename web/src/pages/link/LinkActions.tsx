import type { Schemas } from "../../api/client";
import { Action } from "../../plans/Action";

/** What is done with a link most; the rest is with its settings. */
export function LinkActions({ target, answer }: { target: string; answer: Schemas["LinkAnswer"] }) {
  const { summary } = answer;
  const link = summary.id;
  const findings = [...answer.findings, ...(answer.plan?.findings ?? [])];
  const body = { target, link };
  return (
    <>
      {/* One button for both: whoever has pressed it by keyboard still stands on it, once it says the other. */}
      <Action
        verb={summary.paused ? "links.resume" : "links.pause"}
        body={body}
        title={`${summary.paused ? "Resume" : "Pause"} ${link}`}
        main={summary.paused}
      >
        {summary.paused ? "Resume" : "Pause"}
      </Action>
      {summary.stopped > 0 && !summary.paused ? (
        <Action verb="links.resume" body={body} title={`Resume ${link}`}>
          Resume
        </Action>
      ) : null}
      {summary.stopped > 0 || findings.some((one) => one.fix.includes("link accept")) ? (
        <Action verb="links.accept" body={body} title={`Accept what is lost, and let lanes of ${link} go on`}>
          Accept
        </Action>
      ) : null}
      {summary.running ? (
        <Action verb="links.stop" body={body} title={`Stop ${link}`}>
          Stop
        </Action>
      ) : (
        <Action verb="links.run" body={body} title={`Run ${link}`} main>
          Run
        </Action>
      )}
    </>
  );
}
