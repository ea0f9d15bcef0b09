import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { linksQuery } from "../../api/queries";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Table } from "../../parts/Table";
import { Action } from "../../plans/Action";
import { linkPath } from "../link/path";

/** Links whose offset maps can be published in MirrorMaker 2's own topics. */
export function Publish() {
  const query = useQuery(linksQuery);
  return (
    <section className="panel" aria-label="Publish a link's map">
      <h2>Publish a link&#8217;s map as MirrorMaker 2 does</h2>
      <p className="dim">Readers of its checkpoints find exact positions there: programs that know MirrorMaker need no change.</p>
      <Fetched query={query} what="the links">
        {({ links }) =>
          links.length === 0 ? (
            <Empty title="There is no link whose map could be published">
              <p className="dim">
                <Link href="/links/create">Create a link</Link> first.
              </p>
            </Empty>
          ) : (
            <div className="flush">
              <Table
                caption="Links"
                rows={links}
                rowKey={(link) => `${link.target} ${link.id}`}
                columns={[
                  {
                    key: "link",
                    label: "link",
                    head: "Link",
                    cell: (link) => (
                      <Link href={linkPath(link.target, link.id)} className="strong">
                        {link.id}
                      </Link>
                    ),
                  },
                  { key: "between", label: "between", head: "Between", cell: (link) => `${link.source} → ${link.target}` },
                  {
                    key: "publish",
                    label: "publish",
                    head: <span className="hidden">Actions</span>,
                    cell: (link) => (
                      <Action
                        verb="mirrormaker.publish"
                        body={{ target: link.target, link: link.id }}
                        title={`Publish the map of ${link.id}`}
                        little
                      >
                        Publish <span className="hidden">{link.id}</span>
                      </Action>
                    ),
                  },
                ]}
              />
            </div>
          )
        }
      </Fetched>
    </section>
  );
}
