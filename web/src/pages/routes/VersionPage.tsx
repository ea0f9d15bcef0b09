import { useQuery } from "@tanstack/react-query";
import { routesQuery, routeVersionQuery } from "../../api/queries";
import { yamlText } from "../../format/yaml/write";
import { command } from "../../format/command";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Download } from "../../parts/Download";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { Differences } from "../../routes/Differences";
import { tableOf } from "../../routes/table";
import { NotThere } from "../NotThere";
import { TableView } from "./TableView";
import { VersionFacts } from "./VersionFacts";
import { Rollback } from "./Versions";

/** One version of the route table, and what the newest has otherwise. */
export function VersionPage({ version }: { version: string }) {
  if (!/^[1-9]\d{0,8}$/.test(version)) return <NotThere />;
  return <Shown number={Number(version)} />;
}

function Shown({ number }: { number: number }) {
  const query = useQuery(routeVersionQuery(number));
  const newest = useQuery(routesQuery).data ?? null;
  const applies = newest?.version === number;
  return (
    <Page
      title={`Version ${number}`}
      crumbs={[
        ["Routes", "/routes"],
        ["Versions", "/routes/versions"],
      ]}
      beside={
        applies ? (
          <Badge tone="ok" shape="dot">
            applies
          </Badge>
        ) : null
      }
      actions={newest === null || applies ? null : <Rollback version={number} />}
    >
      <Fetched query={query} what="the version">
        {(found) =>
          found === null ? null : (
            <>
              <section className="panel" aria-label="About this version">
                <div className="row">
                  <h2>Why it was published</h2>
                  <span className="end">
                    <Download name={`routes-${number}.yaml`} text={yamlText(found.table)} />
                  </span>
                </div>
                <VersionFacts version={found} />
                <CommandLine text={command(["route", "show", String(number)])} />
              </section>
              {newest === null || applies ? null : (
                <section className="panel" aria-label="What the newest version has otherwise">
                  <h2>What version {newest.version}, which applies, has otherwise</h2>
                  <Differences
                    before={tableOf(found.table)}
                    after={tableOf(newest.table)}
                    heads={[`Version ${number}`, `Version ${newest.version}`]}
                    same="Nothing: both versions have the same table."
                  />
                </section>
              )}
              <TableView fields={found.table} />
            </>
          )
        }
      </Fetched>
    </Page>
  );
}
