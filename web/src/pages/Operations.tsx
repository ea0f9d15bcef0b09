import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { operationsQuery } from "../api/queries";
import { counted, seconds } from "../format/numbers";
import { Age } from "../parts/Age";
import { Button } from "../parts/Button";
import { Empty } from "../parts/Empty";
import { Fetched } from "../parts/Fetched";
import { Page } from "../parts/Page";
import { WorkBadge } from "../parts/states";
import { Table } from "../parts/Table";
import { reportWords } from "../plans/report";

export function Operations() {
  const query = useInfiniteQuery(operationsQuery);
  return (
    <Page title="Operations" under={<p className="dim">Plans that were applied, the newest first.</p>}>
      <Fetched query={query} what="operations">
        {(data) => {
          const works = data.pages.flat();
          return works.length === 0 ? (
            <div className="panel">
              <Empty title="Nothing has been changed through this service yet">
                <p className="dim">
                  A plan that is applied becomes an operation, and stays here with its report. Plan one at{" "}
                  <Link href="/">a link</Link>.
                </p>
              </Empty>
            </div>
          ) : (
            <section className="panel" aria-label="Operations">
              <div className="flush">
                <Rows works={works} />
              </div>
              {query.hasNextPage ? (
                <div>
                  <Button why={query.isFetchingNextPage ? "they are read" : null} act={() => void query.fetchNextPage()}>
                    Older operations
                  </Button>
                </div>
              ) : (
                <p className="dim small">{counted(works.length, "operation")} in all.</p>
              )}
            </section>
          );
        }}
      </Fetched>
    </Page>
  );
}

const about = (work: Schemas["Work"]): string => {
  const { link, path, group, undo } = work.request as Record<string, unknown>;
  const named = typeof link === "string" ? link : (path ?? group ?? undo ?? created(link));
  return typeof named === "string" ? named : "";
};

function created(link: unknown): string {
  const { id, source, target } = (link ?? {}) as { id?: string; source?: string; target?: string };
  return id ?? (source ? `${source}-${target}` : "");
}

const Rows = ({ works }: { works: readonly Schemas["Work"][] }) => (
  <Table
    caption="Operations"
    rows={works}
    rowKey={(work) => work.id}
    columns={[
      {
        key: "verb",
        label: "operation",
        head: "Operation",
        cell: (work) => (
          <Link href={`/operations/${work.id}`} className="strong">
            {work.verb}
          </Link>
        ),
      },
      { key: "about", label: "of", head: "Of", cell: (work) => <About name={about(work)} /> },
      { key: "state", label: "state", head: "State", cell: (work) => <WorkBadge state={work.state} /> },
      { key: "account", label: "by", head: "By", cell: (work) => work.account },
      { key: "began", label: "began", head: "Began", cell: (work) => <Age ms={work.began_at} /> },
      {
        key: "took",
        label: "took",
        head: "Took",
        number: true,
        cell: (work) => (work.ended_at === null ? "" : seconds((work.ended_at - work.began_at) / 1000)),
      },
      {
        key: "what",
        label: "what came of it",
        head: "What came of it",
        cell: (work) => <span className="anywhere small">{String(work.problem?.["detail"] ?? reportWords(work))}</span>,
      },
    ]}
  />
);

/** A name as most are stays in one piece, also at a hyphen. */
const About = ({ name }: { name: string }) => <span className={name.length <= SHORT ? "nowrap" : "anywhere"}>{name}</span>;
const SHORT = 24;
