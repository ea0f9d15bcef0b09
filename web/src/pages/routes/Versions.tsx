import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { routeVersionsQuery } from "../../api/queries";
import { Age } from "../../parts/Age";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { NoTable } from "./NoTable";

/** Every version, the newest first; none is ever taken out of the list. */
export function Versions() {
  const query = useInfiniteQuery(routeVersionsQuery);
  return (
    <Fetched query={query} what="the versions">
      {({ pages }) => {
        const versions = pages.flat();
        return versions.length === 0 ? (
          <NoTable />
        ) : (
          <section className="panel" aria-label="Versions">
            <div className="flush">
              <Rows versions={versions} />
            </div>
            <div>
              {query.hasNextPage ? (
                <Button why={query.isFetchingNextPage ? "they are read" : null} act={() => void query.fetchNextPage()}>
                  Older versions
                </Button>
              ) : (
                <p className="dim small">There are no older versions.</p>
              )}
            </div>
            <CommandLine text="anabranch route versions" />
          </section>
        );
      }}
    </Fetched>
  );
}

const Rows = ({ versions }: { versions: readonly Schemas["VersionSummary"][] }) => (
  <Table
    caption="Versions"
    rows={versions}
    rowKey={(one) => String(one.version)}
    columns={[
      {
        key: "version",
        label: "version",
        head: "Version",
        cell: (one) => (
          <span className="row">
            <Link href={`/routes/versions/${one.version}`} className="strong">
              version {one.version}
            </Link>
            {one === versions[0] ? (
              <Badge tone="ok" shape="dot">
                applies
              </Badge>
            ) : null}
          </span>
        ),
      },
      { key: "at", label: "published", head: "Published", cell: (one) => <Age ms={one.at_ms} absolute /> },
      { key: "author", label: "by", head: "By", cell: (one) => one.author },
      { key: "reason", label: "reason", head: "Reason", cell: (one) => <div className="told">{one.reason}</div> },
      {
        key: "back",
        label: "go back",
        head: <span className="hidden">Actions</span>,
        cell: (one) => (one === versions[0] ? null : <Rollback version={one.version} little />),
      },
    ]}
  />
);

export const Rollback = ({ version, little = false }: { version: number; little?: boolean }) => (
  <Action verb="routes.rollback" body={{ version }} title={`Go back to version ${version}`} little={little}>
    Go back to it <span className="hidden">: version {version}</span>
  </Action>
);
