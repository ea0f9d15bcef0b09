import { Page } from "../../parts/Page";
import { Tabs } from "../../parts/Tabs";
import { NotThere } from "../NotThere";
import { FlowTranslate } from "./FlowTranslate";
import { Publish } from "./Publish";
import { Rebuild } from "./Rebuild";
import { Report } from "./Report";

const TABS = [
  ["", "Report", Report],
  ["translate", "Translate", FlowTranslate],
  ["publish", "Publish", Publish],
  ["rebuild", "Maps from records", Rebuild],
] as const;

/** Beside MirrorMaker 2, and taking over from it or from any other tool. */
export function MirrorMaker({ tab }: { tab: string }) {
  const found = TABS.find(([name]) => name === tab);
  if (found === undefined) return <NotThere />;
  const [, , Shown] = found;
  return (
    <Page
      title="MirrorMaker 2"
      under={<p className="dim">How far off its answers are, exact positions for its readers, and what it takes to take over from it.</p>}
    >
      <Tabs
        label="Beside MirrorMaker 2"
        tabs={TABS.map(([name, label]) => ({
          href: name === "" ? "/mirrormaker" : `/mirrormaker/${name}`,
          label,
          current: tab === name,
        }))}
      />
      <Shown />
    </Page>
  );
}
