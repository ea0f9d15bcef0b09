import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { grantsQuery } from "../../api/queries";
import { above, entryPath, levelOf } from "../../catalog/entry";
import { command } from "../../format/command";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Fetched } from "../../parts/Fetched";
import { MoreRows } from "../../parts/MoreRows";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";

type Grant = Schemas["GrantAnswer"];

/** Grants with whom they are for, and on what. */
export const GrantsTable = ({ grants, isMine = () => true }: { grants: readonly Grant[]; isMine?: (grant: Grant) => boolean }) => (
  <MoreRows rows={grants} what="grants">
    {(rows) => (
      <div className="flush">
        <Table
          caption="Grants"
          rows={rows}
          rowKey={(one) => `${one.securable} ${one.principal} ${one.privilege}`}
          columns={[
            { key: "principal", label: "for", head: "For", cell: (one) => <strong className="anywhere">{one.principal}</strong> },
            { key: "privilege", label: "privilege", head: "Privilege", cell: (one) => one.privilege },
            { key: "on", label: "on", head: "On", cell: (one) => <On name={one.securable} /> },
            { key: "given", label: "given", head: "Given", cell: (one) => <Age ms={one.at} absolute /> },
            { key: "by", label: "by", head: "By", cell: (one) => <span className="anywhere">{one.author}</span> },
            {
              key: "revoke",
              label: "revoke",
              head: <span className="hidden">Actions</span>,
              cell: (one) =>
                isMine(one) ? (
                  <Action
                    verb="catalog.revoke"
                    body={{ name: one.securable, on: levelOf(one.securable), privilege: one.privilege, principal: one.principal }}
                    title={`Revoke ${one.privilege} on ${one.securable}`}
                    little
                  >
                    Revoke <span className="hidden">{`${one.privilege} on ${one.securable} of ${one.principal}`}</span>
                  </Action>
                ) : null,
            },
          ]}
        />
      </div>
    )}
  </MoreRows>
);

/** A whole catalog has no page of its own. */
const On = ({ name }: { name: string }) =>
  name.includes(".") ? (
    <Link href={entryPath(name)} className="anywhere">
      {name.replace(/^spark_catalog\./, "")}
    </Link>
  ) : (
    <>all of catalog {name}</>
  );

/** Grants on an entry and on what is above it, which hold for it too. */
export function GrantsOf({ name, mayManage }: { name: string; mayManage: boolean }) {
  const query = useQuery(grantsQuery());
  const names = above(name);
  return (
    <section className="panel" aria-label="Grants">
      <h2>Grants</h2>
      <Fetched query={query} what="the grants">
        {(found) => {
          const grants = found.filter((one) => names.includes(one.securable));
          if (grants.length === 0) {
            return (
              <p className="dim">
                {mayManage ? "Nobody has one: only its owner and admins of the service may use it." : "None that you may see: who manages it sees all of them."}
              </p>
            );
          }
          return <GrantsTable grants={grants} isMine={() => mayManage} />;
        }}
      </Fetched>
      <CommandLine text={command(["catalog", "grants", name])} />
    </section>
  );
}
