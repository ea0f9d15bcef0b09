import { lazy, Suspense } from "react";
import { CommandLine } from "../../parts/CopyButton";
import { Page } from "../../parts/Page";
import { Waiting } from "../../parts/Waiting";

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
export const StartPage = () => (
  <Page title="Start a migration" crumbs={[["Migrations", "/migrations"]]}>
    <section className="panel" aria-label="Start a migration">
      <p className="dim">
        Its waves are copied, and nothing is switched by it. Nothing begins before the plan is applied. This writes a file from what the source holds:
      </p>
      <CommandLine text="anabranch migrate discover --source SOURCE --target TARGET --out move.yaml" />
      <Suspense fallback={<Waiting what="the editor" />}>
        <Editor verb="migrations.start" title="Start a migration" label="Plan the start" text={FIRST} />
      </Suspense>
    </section>
  </Page>
);
