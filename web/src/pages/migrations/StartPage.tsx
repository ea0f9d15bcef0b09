import { lazy, Suspense, useState } from "react";
import { Page } from "../../parts/Page";
import { Waiting } from "../../parts/Waiting";
import { Suggest } from "./Suggest";

/** It reads YAML, which most pages do not. */
const Editor = lazy(() => import("./Editor"));

const FIRST = `version: 1
name: move
source: CONTEXT
target: CONTEXT
waves:
  - name: orders
    topics: [orders]
    groups: [billing]
    fences: [observe]
`;

/** A migration file in place of \`migrate start -f\`. */
export function StartPage() {
  const [text, write] = useState(FIRST);
  return (
    <Page title="Start a migration" crumbs={[["Migrations", "/migrations"]]}>
      <Suggest write={write} />
      <section className="panel" aria-label="Start a migration">
        <p className="dim">Its waves are copied, and nothing is switched by it. Nothing begins before the plan is applied.</p>
        <Suspense fallback={<Waiting what="the editor" />}>
          <Editor key={text} verb="migrations.start" title="Start a migration" label="Plan the start" text={text} />
        </Suspense>
      </section>
    </Page>
  );
}
