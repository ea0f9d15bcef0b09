import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import { artifactQuery } from "../../api/queries";
import type { Schemas } from "../../api/client";
import { command } from "../../format/command";
import { bytes } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { CommandLine, CopyButton } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { Action } from "../../plans/Action";
import { mayAs, useMe } from "../../session/me";
import { signature } from "../../streams/artifacts";
import { streamPath } from "../../streams/stream";

type Found = Schemas["ArtifactAnswer"];
type Version = Schemas["ArtifactVersionAnswer"];

/** One artifact: its versions with their functions, and who runs with them. */
export function ArtifactPage({ name }: { name: string }) {
  const query = useQuery(artifactQuery(name));
  const found = query.data;
  return (
    <Page
      title={`Artifact ${name}`}
      crumbs={[["Artifacts", "/artifacts"]]}
      beside={
        found ? (
          <Badge tone="idle" shape="square">
            {found.artifact.kind}
          </Badge>
        ) : null
      }
      actions={found ? <Delete found={found} /> : null}
      under={found?.artifact.description ? <p className="dim">{found.artifact.description}</p> : null}
    >
      <Fetched query={query} what="the artifact">
        {(data) => (
          <>
            {data.versions.map((one) => (
              <OfVersion key={one.version.number} found={data} one={one} />
            ))}
            <section className="panel" aria-label="As a command">
              <CommandLine text={command(["artifact", "show", name])} />
            </section>
          </>
        )}
      </Fetched>
    </Page>
  );
}

const usedBy = (versions: readonly Version[]): string[] => [...new Set(versions.flatMap((one) => one.uses))];

function Delete({ found: { artifact, versions } }: { found: Found }) {
  const me = useMe();
  return (
    <Action verb="artifacts.delete" body={{ artifact: artifact.name }} title={`Delete ${artifact.name}`} why={whyNot(me, usedBy(versions))}>
      Delete
    </Action>
  );
}

const whyNot = (me: Parameters<typeof mayAs>[0], uses: readonly string[]): string | null =>
  !mayAs(me, "admin") ? "only an admin deletes artifacts" : uses.length ? `streams were saved with it: ${uses.join(", ")}` : null;

function OfVersion({ found: { artifact, versions }, one: { version, uses } }: { found: Found; one: Version }) {
  const me = useMe();
  const { number, author, at_ms: at, note, content, functions, dependencies } = version;
  return (
    <section className="panel" aria-label={`Version ${number}`}>
      <div className="row">
        <h2>Version {number}</h2>
        <span className="dim small">
          <Age ms={at} absolute /> by {author}
        </span>
        {versions.length > 1 ? (
          <span className="row end">
            <Action verb="artifacts.delete" body={{ artifact: artifact.name, version: number }} title={`Delete version ${number} of ${artifact.name}`} little why={whyNot(me, uses)}>
              Delete version {number}
            </Action>
          </span>
        ) : null}
      </div>
      {note ? <p>{note}</p> : null}
      <Facts
        facts={[
          ["file", <span className="anywhere">{content.file}, {bytes(content.size)}</span>],
          ["SHA-256", <code className="anywhere small">{content.sha256}</code>],
          ["needs", dependencies.length ? <span className="anywhere">{dependencies.map((file) => file.file).join(", ")}</span> : "nothing"],
          ["used by", uses.length ? <Uses uses={uses} /> : "no stream"],
        ]}
      />
      <h3>Functions</h3>
      {functions.length === 0 ? (
        <p className="dim">None that a script could name.</p>
      ) : (
        <ul className="stack">
          {functions.map((each) => (
            <li key={each.name} className="row">
              <code className="anywhere">{signature(each)}</code>
              <CopyButton text={declaration(artifact, number, each.name)} label="Copy as SQL" />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const declaration = ({ name, kind }: Found["artifact"], number: number, called: string): string =>
  `CREATE TEMPORARY FUNCTION ${called.split(".").at(-1)} AS '${called}' USING ${kind === "jar" ? "JAR" : "FILE"} 'artifact:${name}@${number}';`;

/** Each use is such as: stream page-views version 2. */
const Uses = ({ uses }: { uses: readonly string[] }) => (
  <>
    {uses.map((use, index) => {
      const [, stream, version] = /^stream (\S+) version (\d+)$/.exec(use) ?? [];
      return (
        <Fragment key={use}>
          {index ? ", " : ""}
          {stream === undefined ? use : <Link href={`${streamPath(stream, "script")}?version=${version}`}>{use}</Link>}
        </Fragment>
      );
    })}
  </>
);
