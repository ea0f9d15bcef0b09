import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { artifactsQuery } from "../../api/queries";
import type { Schemas } from "../../api/client";
import { counted } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { Table } from "../../parts/Table";
import { artifactPath } from "../../streams/artifacts";

/** Jars, wheels and files of Python whose functions streams use. */
export function Artifacts() {
  const query = useQuery(artifactsQuery);
  return (
    <Page title="Artifacts" under={<p className="dim">Jars, wheels and files of Python whose functions streams use by name.</p>}>
      <Fetched query={query} what="the artifacts">
        {(found) => (found.length === 0 ? <Nothing /> : <Shown artifacts={found} />)}
      </Fetched>
    </Page>
  );
}

const Nothing = () => (
  <div className="panel">
    <Empty title="No artifact has been uploaded yet">
      <p className="dim">An admin uploads a jar, a wheel or a file of Python. A script uses its functions by its name:</p>
      <CommandLine text="anabranch artifact upload NAME FILE" />
      <CommandLine text="CREATE TEMPORARY FUNCTION f AS 'module.function' USING FILE 'artifact:NAME';" />
    </Empty>
  </div>
);

const Shown = ({ artifacts }: { artifacts: readonly Schemas["StoredArtifact"][] }) => (
  <section className="panel" aria-label="All artifacts">
    <span className="dim small" role="status">
      {counted(artifacts.length, "artifact")}
    </span>
    <Table
      caption="Artifacts"
      rows={artifacts}
      rowKey={({ name }) => name}
      columns={[
        {
          key: "name",
          label: "artifact",
          head: "Artifact",
          cell: (one) => (
            <div className="told">
              <Link href={artifactPath(one.name)} className="strong">
                {one.name}
              </Link>
              <div className="small dim">{one.description}</div>
            </div>
          ),
        },
        { key: "kind", label: "kind", head: "Kind", cell: (one) => one.kind },
        { key: "newest", label: "last upload", head: "Last upload", cell: (one) => `version ${one.newest}` },
        { key: "owner", label: "owner", head: "Owner", cell: (one) => one.owner },
        { key: "made", label: "made", head: "Made", cell: (one) => <Age ms={one.created} absolute /> },
      ]}
    />
    <CommandLine text="anabranch artifact list" />
  </section>
);
