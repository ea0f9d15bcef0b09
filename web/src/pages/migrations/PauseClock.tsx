import { seconds, share } from "../../format/numbers";
import { exactly, type Pause } from "../../migrations/pause";

interface Props {
  pause: Pause;
  longestMs: number | null;
  isOpen: boolean;
}

/** For how long applications are, or were, held up, and how much of the longest pause that is. */
export function PauseClock({ pause, longestMs, isOpen }: Props) {
  const { state, ms, used } = pause;
  const most = longestMs === null ? "" : `at most ${seconds(longestMs / 1000)} before the point of no return`;
  if (state === "none") return <p className="dim">No application was held up.</p>;
  if (state === "not yet") {
    return (
      <p className="dim">
        No application is held up yet{most ? `; it will be ${most}` : ""}.
      </p>
    );
  }
  const isRunning = state === "running" && isOpen;
  return (
    <div className={`pause${isRunning ? " running" : ""}`} role="group" aria-label="Pause">
      <div>{isRunning ? "Applications are held up for" : "Applications were held up for"}</div>
      <div className="clock" role="timer">
        {isRunning ? seconds(ms / 1000) : exactly(ms)}
      </div>
      {used === null ? null : (
        <>
          <div className="bar" aria-hidden="true">
            <i style={{ width: `${used * 100}%` }} />
          </div>
          <div className="small dim">
            {share(used)} of the longest pause: {most}
          </div>
        </>
      )}
    </div>
  );
}
