import { useQuery } from "@tanstack/react-query";
import { routesQuery } from "../../api/queries";
import { yamlText } from "../../format/yaml/write";
import { CommandLine } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Fetched } from "../../parts/Fetched";
import { NoTable } from "./NoTable";
import { TableView } from "./TableView";
import { VersionFacts } from "./VersionFacts";

/** The route table that applies. */
export function Newest() {
  const query = useQuery(routesQuery);
  return (
    <Fetched query={query} what="the route table">
      {(version) =>
        version === null ? (
          <NoTable />
        ) : (
          <div className="stack-wide">
            <section className="panel" aria-label="The version that applies">
              <div className="row">
                <h2>Version {version.version} applies</h2>
                <span className="end">
                  <Download name="routes.yaml" text={yamlText(version.table)} />
                </span>
              </div>
              <VersionFacts version={version} />
              <CommandLine text="anabranch route show --out routes.yaml" />
            </section>
            <TableView fields={version.table} />
          </div>
        )
      }
    </Fetched>
  );
}
