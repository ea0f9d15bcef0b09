import { useQuery } from "@tanstack/react-query";
import { groupsOfCatalogQuery } from "../../api/queries";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { mayAs, useMe } from "../../session/me";

/** Groups of accounts that grants are for. */
export function Groups() {
  const query = useQuery(groupsOfCatalogQuery);
  const me = useMe();
  const why = mayAs(me, "admin") ? null : "only an admin changes groups";
  return (
    <Fetched query={query} what="the groups">
      {(groups) => (
        <section className="panel" aria-label="Groups">
          <div className="row">
            <h2>Groups</h2>
            <span className="row end">
              <Action verb="catalog.group" body={{}} title="Make a group" why={why}>
                Make a group
              </Action>
            </span>
          </div>
          {groups.length === 0 ? (
            <Empty title={mayAs(me, "admin") ? "There is no group yet" : "You are in no group"}>
              <p className="dim">
                A grant for <code>group:NAME</code> is one for each account in it.
              </p>
            </Empty>
          ) : (
            <div className="flush">
              <Table
                caption="Groups"
                rows={groups}
                rowKey={(one) => one.group}
                columns={[
                  { key: "group", label: "group", head: "Group", cell: (one) => <strong className="anywhere">{one.group}</strong> },
                  {
                    key: "members",
                    label: "accounts",
                    head: "Accounts",
                    cell: (one) => <span className="anywhere">{one.members.map((name) => (one.claimed.includes(name) ? `${name} (provider)` : name)).join(", ") || "nobody"}</span>,
                  },
                  {
                    key: "change",
                    label: "change",
                    head: <span className="hidden">Actions</span>,
                    cell: (one) => (
                      <Action verb="catalog.group" body={{ group: one.group }} title={`Change group ${one.group}`} little why={why}>
                        Change <span className="hidden">group {one.group}</span>
                      </Action>
                    ),
                  },
                ]}
              />
            </div>
          )}
        </section>
      )}
    </Fetched>
  );
}
