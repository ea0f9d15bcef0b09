import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { migrationQuery } from "../../api/queries";
import { yamlText } from "../../format/yaml/write";
import { migrationPath } from "../../migrations/waves";
import { Fetched } from "../../parts/Fetched";
import { Page } from "../../parts/Page";
import { Waiting } from "../../parts/Waiting";
import { NotThere } from "../NotThere";
import { isName } from "./name";

const Editor = lazy(() => import("./Editor"));

/** Another file in place of a migration's own. */
export function ChangePage({ name }: { name: string }) {
  if (!isName(name)) return <NotThere />;
  return <Shown name={name} />;
}

function Shown({ name }: { name: string }) {
  const query = useQuery(migrationQuery(name));
  return (
    <Page
      title={`Change ${name}`}
      crumbs={[
        ["Migrations", "/migrations"],
        [name, migrationPath(name)],
      ]}
    >
      <Fetched query={query} what="the migration">
        {({ migration, document }) => (
          <section className="panel" aria-label={`Change ${name}`}>
            <p className="dim">
              The whole file: what the text does not have is gone. Topics and clusters of waves that are started stay as they are. Nothing changes
              before the plan is applied.
            </p>
            <Suspense fallback={<Waiting what="the editor" />}>
              <Editor key={migration.revision} verb="migrations.set" title={`Change ${name}`} label="Plan the change" text={yamlText(document)} />
            </Suspense>
          </section>
        )}
      </Fetched>
    </Page>
  );
}
