import { Empty } from "../../parts/Empty";
import { Page } from "../../parts/Page";
import { Tabs } from "../../parts/Tabs";
import { useMe } from "../../session/me";
import { NotThere } from "../NotThere";
import { Advise } from "./Advise";
import { Look } from "./Look";
import { Prove } from "./Prove";
import { Rewrite } from "./Rewrite";
import { Undo } from "./Undo";

const TABS = [
  ["", "Look"],
  ["advice", "Advice"],
  ["rewrite", "Rewrite"],
  ["proof", "Proof"],
  ["undo", "Undo"],
] as const;

export function Checkpoints({ tab }: { tab: string }) {
  const me = useMe();
  if (!TABS.some(([name]) => name === tab)) return <NotThere />;
  return (
    <Page
      title="Checkpoints"
      under={
        <p>
          A rewrite changes the stored positions in a checkpoint of Spark or a savepoint of Flink for the other cluster,
          and nothing else. It can be undone.
        </p>
      }
    >
      {me.roots.length === 0 ? (
        <div className="panel">
          <Empty title="The service opens no checkpoints">
            <p className="dim">
              Start it with the directories that it may open: <code>anabranch serve --checkpoints /data/checkpoints</code>
            </p>
          </Empty>
        </div>
      ) : (
        <>
          <Tabs
            label="What to do with a checkpoint"
            tabs={TABS.map(([name, label]) => ({
              href: name === "" ? "/checkpoints" : `/checkpoints/${name}`,
              label,
              current: tab === name,
            }))}
          />
          {tab === "" ? <Look roots={me.roots} /> : null}
          {tab === "advice" ? <Advise roots={me.roots} /> : null}
          {tab === "rewrite" ? <Rewrite roots={me.roots} /> : null}
          {tab === "proof" ? <Prove roots={me.roots} /> : null}
          {tab === "undo" ? <Undo /> : null}
        </>
      )}
    </Page>
  );
}
