import { useQuery } from "@tanstack/react-query";
import { savedCheckpointsQuery } from "../../api/queries";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Action } from "../../plans/Action";
import { SavedQueries } from "../../plans/StreamBodies";
import type { SavedCheckpoint } from "../../streams/beginning";
import { NotOfPySpark } from "../../streams/NotOfPySpark";
import { isActive, isToRestart, type Stream } from "../../streams/stream";
import type { TabProps } from "./StreamPage";
import { TryCheckpoints } from "./TryCheckpoints";

/** The checkpoints of a stream: whether a version goes on with them, and those that were saved under a name. */
export const Checkpoints = ({ answer }: TabProps) => (
  <>
    <Saved stream={answer.stream} place={answer.checkpoints} />
    {answer.stream.kind === "pyspark" ? (
      <NotOfPySpark what="trial" why="No look at its code says which query's state fits; Spark says so as it starts." />
    ) : (
      <TryCheckpoints answer={answer} />
    )}
  </>
);

function Saved({ stream, place }: { stream: Stream; place: string }) {
  const query = useQuery(savedCheckpointsQuery(stream.name));
  return (
    <section className="panel" aria-label="Saved checkpoints">
      <div className="row">
        <h2>Saved checkpoints</h2>
        <span className="row end">
          <Action verb="streams.checkpoint" body={{ stream: stream.name }} title={`Save the checkpoints of ${stream.name}`} why={whyNotSave(stream)}>
            Save those of now
          </Action>
        </span>
      </div>
      <Fetched query={query} what="the saved checkpoints">
        {(saved) =>
          saved.length === 0 ? (
            <Empty title="None was saved">
              <p className="dim">Those of a stopped stream are saved under a name; a start can go back to it.</p>
            </Empty>
          ) : (
            <div className="stack-wide">
              {saved.map((one) => (
                <One key={one.name} stream={stream} saved={one} />
              ))}
            </div>
          )
        }
      </Fetched>
      <p className="dim small">
        The queries go on with what is in <code className="anywhere">{place}</code>.
      </p>
      <CommandLine text={command(["stream", "checkpoint", stream.name])} />
    </section>
  );
}

const One = ({ stream, saved }: { stream: Stream; saved: SavedCheckpoint }) => (
  <section className="stack" aria-label={`Checkpoint ${saved.name}`}>
    <div className="row">
      <h3>{saved.name}</h3>
      <span className="dim small">
        of version {saved.version}, saved <Age ms={saved.at_ms} absolute /> by {saved.author}
      </span>
      <span className="row end">
        <Action
          verb={isToRestart(stream) ? "streams.restart" : "streams.start"}
          body={{ stream: stream.name, checkpoint: saved.name }}
          title={`${isToRestart(stream) ? "Restart" : "Start"} ${stream.name} from ${saved.name}`}
          asks={[]}
          little
        >
          {isToRestart(stream) ? "Restart" : "Start"} from <span className="hidden">checkpoint {saved.name}</span>
          <span aria-hidden="true">it</span>
        </Action>
        <Action verb="streams.checkpoint" body={{ stream: stream.name, delete: saved.name }} title={`Delete checkpoint ${saved.name}`} asks={[]} little>
          Delete <span className="hidden">checkpoint {saved.name}</span>
        </Action>
      </span>
    </div>
    <SavedQueries queries={saved.queries} />
  </section>
);

const whyNotSave = (stream: Stream): string | null =>
  stream.wanted === "running" || isActive(stream) ? "those of a stopped stream are saved: stop it first" : null;
