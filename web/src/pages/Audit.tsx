import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { client, told, type Schemas } from "../api/client";
import { Age } from "../parts/Age";
import { Badge, type Tone } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Empty } from "../parts/Empty";
import { Filter } from "../parts/Filter";
import { Page } from "../parts/Page";
import { ProblemNotice } from "../parts/ProblemNotice";
import type { ShapeName } from "../parts/Shape";
import { Table } from "../parts/Table";
import { Waiting } from "../parts/Waiting";

const PAGE = 100;

export function Audit() {
  const [search, setSearch] = useSearchParams();
  const account = search.get("account") ?? "";
  const verb = search.get("verb") ?? "";
  const query = useInfiniteQuery({
    queryKey: ["audit", account, verb],
    queryFn: ({ pageParam, signal }) =>
      told(
        client.GET("/api/v1/audit", {
          params: {
            query: {
              limit: PAGE,
              ...(pageParam === null ? {} : { before: pageParam }),
              ...(account ? { account } : {}),
              ...(verb ? { verb } : {}),
            },
          },
          signal,
        }),
      ),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => (last.length < PAGE ? null : (last[last.length - 1]?.id ?? null)),
    placeholderData: keepPreviousData,
  });
  const entries = query.data?.pages.flat();
  const filter = (name: string, value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return (
    <Page title="Audit" under={<p className="dim">Who asked for what, with which plan, and how it went.</p>}>
      <section className="panel" aria-label="Audit">
        <div className="filters">
          <Filter label="Account" value={account} change={(value) => filter("account", value)} />
          <Filter label="Verb, such as links.pause" value={verb} change={(value) => filter("verb", value)} />
        </div>
        {query.isError ? <ProblemNotice error={query.error} again={() => void query.refetch()} /> : null}
        {entries === undefined ? (
          query.isError ? null : <Waiting what="the audit" />
        ) : entries.length === 0 ? (
          <Empty title={account || verb ? "No entry is as the filter wants it" : "Nothing has happened yet"}>
            {account || verb ? (
              <>
                <p className="dim">Account and verb are matched whole, as in links.pause.</p>
                <Button act={() => setSearch({}, { replace: true })}>Show every entry</Button>
              </>
            ) : (
              <p className="dim">
                Each sign-in, plan and operation is written here. Begin at <Link href="/">all links</Link>.
              </p>
            )}
          </Empty>
        ) : (
          <>
            <div className="flush">
              <Rows entries={entries} />
            </div>
            <div>
              {query.hasNextPage ? (
                <Button why={query.isFetchingNextPage ? "they are read" : null} act={() => void query.fetchNextPage()}>
                  Older entries
                </Button>
              ) : (
                <p className="dim small">There are no older entries.</p>
              )}
            </div>
          </>
        )}
      </section>
    </Page>
  );
}

const LOOK: Record<Schemas["Outcome"], readonly [Tone, ShapeName]> = {
  started: ["idle", "play"],
  done: ["ok", "check"],
  refused: ["warn", "triangle"],
  failed: ["bad", "cross"],
  lost: ["bad", "cross"],
};

const Rows = ({ entries }: { entries: readonly Schemas["AuditEntry"][] }) => (
  <Table
    caption="Audit"
    rows={entries}
    rowKey={(entry) => String(entry.id)}
    columns={[
      { key: "at", label: "when", head: "When", cell: (entry) => <Age ms={entry.at} absolute /> },
      {
        key: "account",
        label: "account",
        head: "Account",
        cell: (entry) => (
          <>
            {entry.account} <span className="dim small">{entry.role}</span>
          </>
        ),
      },
      { key: "verb", label: "verb", head: "Verb", cell: (entry) => <code>{entry.verb}</code> },
      { key: "subject", label: "of", head: "Of", cell: (entry) => <span className="anywhere">{entry.subject}</span> },
      {
        key: "outcome",
        label: "outcome",
        head: "Outcome",
        cell: (entry) => (
          <Badge tone={LOOK[entry.outcome][0]} shape={LOOK[entry.outcome][1]}>
            {entry.outcome}
          </Badge>
        ),
      },
      { key: "detail", label: "detail", head: "Detail", cell: (entry) => <span className="anywhere small">{entry.detail}</span> },
      { key: "address", label: "from", head: "From", cell: (entry) => entry.address },
      {
        key: "more",
        label: "more",
        head: "More",
        cell: (entry) => (
          <span className="row">
            {entry.plan ? <Link href={`/plans/${entry.plan}`}>plan</Link> : null}
            {entry.operation ? <Link href={`/operations/${entry.operation}`}>operation</Link> : null}
          </span>
        ),
      },
    ]}
  />
);
