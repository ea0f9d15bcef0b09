import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { switchesQuery } from "../../api/queries";
import { command } from "../../format/command";
import { whole } from "../../format/numbers";
import { Age } from "../../parts/Age";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { SwitchBadge } from "../../routes/SwitchBadge";
import { hasPublished, isOpen, switchPath, type SwitchSummary } from "../../routes/switches";

const FEW = 20;
const MOST = 100;

/** Switches, the newest first: how clients that ran were moved to another cluster. */
export function Switches() {
  const [limit, setLimit] = useState(FEW);
  const query = useQuery(switchesQuery(limit));
  return (
    <Fetched query={query} what="the switches">
      {(found) =>
        found.length === 0 ? (
          <NoSwitches />
        ) : (
          <section className="panel" aria-label="Switches">
            <div className="flush">
              <Rows switches={found} />
            </div>
            {limit === FEW && found.length === FEW ? (
              <div>
                <Button act={() => setLimit(MOST)}>Older switches</Button>
              </div>
            ) : null}
            <CommandLine text={command(["route", "switches"], [["--limit", limit === FEW ? null : limit]])} />
          </section>
        )
      }
    </Fetched>
  );
}

const NoSwitches = () => (
  <div className="panel">
    <Empty title="No client was moved yet">
      <p className="dim">
        A change that leads clients which run to another cluster moves them by a switch: they pause, what they wrote is copied, their groups go
        to exactly the next record, and the table is published. <Link href="/routes/change">Plan a change</Link>, or:
      </p>
      <CommandLine text="anabranch route apply -f FILE --reason WHY --execute" />
    </Empty>
  </div>
);

const Rows = ({ switches }: { switches: readonly SwitchSummary[] }) => (
  <Table
    caption="Switches"
    rows={switches}
    rowKey={(one) => one.id}
    columns={[
      {
        key: "switch",
        label: "switch",
        head: "Switch",
        cell: (one) => (
          <span className="row">
            <Link href={switchPath(one.id)} className="strong" title={one.id}>
              {one.id.slice(0, 8)}
            </Link>
            <SwitchBadge one={one} />
          </span>
        ),
      },
      { key: "began", label: "began", head: "Began", cell: (one) => <Age ms={one.began_ms} /> },
      { key: "version", label: "version", head: "Version", cell: (one) => <VersionOf one={one} /> },
      { key: "clients", label: "clients", head: "Clients", number: true, cell: (one) => whole(one.clients) },
      { key: "paused", label: "paused", head: "Paused", number: true, cell: (one) => whole(one.paused) },
      { key: "left", label: "left behind", head: "Left behind", number: true, cell: (one) => whole(one.left) },
      {
        key: "why",
        label: "why",
        head: "Why",
        cell: (one) => (
          <div className="told">
            {one.reason}
            <div className="small dim">by {one.author}</div>
            {one.why === "" ? null : <div className="old">given up: {one.why}</div>}
          </div>
        ),
      },
    ]}
  />
);

/** The version that it published; one that was given up would have made it. */
export const VersionOf = ({ one }: { one: SwitchSummary }) =>
  hasPublished(one) ? <Link href={`/routes/versions/${one.version}`}>version {whole(one.version)}</Link> : <span className="dim">{isOpen(one) ? "not published yet" : "not published"}</span>;
