import { useQuery } from "@tanstack/react-query";
import { Redirect, useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { streamQuery, streamVersionQuery } from "../../api/queries";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { StreamBadge } from "../../parts/states";
import type { FieldSpec } from "../../plans/specs";
import { isStreamName, streamPath } from "../../streams/stream";
import { linkPath } from "../link/path";
import { NotThere } from "../NotThere";
import { SETTINGS } from "./CreateStream";
import { StreamForm } from "./StreamForm";

const FIELDS: readonly FieldSpec[] = [{ name: "note", label: "Note", kind: "text", hint: "What is new, for those who look at the versions." }, ...SETTINGS];

/** Another version of a stream, in place of \`stream edit\`; it begins with the newest, or with the one that is asked for. */
export function EditStream({ name }: { name: string }) {
  if (!isStreamName(name)) return <NotThere />;
  return <Found name={name} />;
}

function Found({ name }: { name: string }) {
  const query = useQuery(streamQuery(name));
  const [search] = useSearchParams();
  const stream = query.data?.stream;
  if (stream?.kind === "link") return <Redirect to={linkPath(stream.target, name)} replace />;
  return (
    <Page
      title={`Edit ${name}`}
      crumbs={[
        ["Streams", "/streams"],
        [`Stream ${name}`, streamPath(name)],
      ]}
      beside={query.data ? <StreamBadge state={query.data.stream.state} /> : null}
      under={<p className="dim">Every save is another version. What runs goes on as it is until another one is published and the stream is restarted.</p>}
    >
      <Fetched query={query} what="the stream">
        {({ versions }) => {
          const base = versions.find((one) => one.number === Number(search.get("version"))) ?? versions[0];
          return base === undefined ? null : <Shown key={base.number} name={name} base={base} newest={versions[0]?.number ?? base.number} />;
        }}
      </Fetched>
    </Page>
  );
}

function Shown({ name, base, newest }: { name: string; base: Schemas["StreamVersionNote"]; newest: number }) {
  const query = useQuery(streamVersionQuery(name, base));
  return (
    <Fetched query={query} what="its script">
      {(found) => (
        <>
          {base.number === newest ? null : (
            <div className="notice warn">
              <p>
                This begins with version {base.number}; version {newest} is newer, and what is saved has nothing of it that is not here.
              </p>
            </div>
          )}
          <StreamForm
            verb="streams.edit"
            title={`Save another version of ${name}`}
            label="Plan the new version"
            fields={FIELDS}
            values={{
              note: "",
              trigger: found.settings.trigger,
              restarts: String(found.settings.restarts),
              launcher: found.settings.launcher,
            }}
            script={found.script}
            kind={found.kind}
            given={{ stream: name }}
          />
        </>
      )}
    </Fetched>
  );
}
