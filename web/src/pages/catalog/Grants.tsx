import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { grantsQuery } from "../../api/queries";
import { counted } from "../../format/numbers";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { Action } from "../../plans/Action";
import { GrantsTable } from "./GrantsTable";

/** Every grant that one may see: on what one manages, and one's own. */
export function Grants() {
  const query = useQuery(grantsQuery());
  return (
    <Fetched query={query} what="the grants">
      {(grants) => (
        <section className="panel" aria-label="Grants">
          <div className="row">
            <h2>Grants on what you manage, and your own</h2>
            <span className="dim small">{counted(grants.length, "grant")}</span>
            <span className="row end">
              <Action verb="catalog.grant" body={{ on: "catalog", name: "spark_catalog" }} title="Grant a privilege on the whole catalog">
                Grant on all
              </Action>
            </span>
          </div>
          {grants.length ? (
            <GrantsTable grants={grants} />
          ) : (
            <Empty title="There is no grant that you may see">
              <p className="dim">
                Owners grant on the page of what they own: find it in <Link href="/catalog">the catalog</Link>.
              </p>
            </Empty>
          )}
          <CommandLine text="anabranch catalog grants" />
        </section>
      )}
    </Fetched>
  );
}
