import { Page } from "../../parts/Page";
import { Tabs } from "../../parts/Tabs";
import { NotThere } from "../NotThere";
import { Change } from "./Change";
import { Explain } from "./Explain";
import { Newest } from "./Newest";
import { Switches } from "./Switches";
import { Versions } from "./Versions";

const TABS = [
  ["", "Table", Newest],
  ["explain", "Explain", Explain],
  ["change", "Change", Change],
  ["versions", "Versions", Versions],
  ["switches", "Switches", Switches],
] as const;

/** Where applications that name a cluster code are led, why, and how that is changed. */
export function Routes({ tab }: { tab: string }) {
  const found = TABS.find(([name]) => name === tab);
  if (found === undefined) return <NotThere />;
  const [, , Shown] = found;
  return (
    <Page
      title="Routes"
      under={<p className="dim">Applications name a cluster code in place of bootstrap servers; this table says where each code leads.</p>}
    >
      <Tabs
        label="Routes"
        tabs={TABS.map(([name, label]) => ({ href: name === "" ? "/routes" : `/routes/${name}`, label, current: tab === name }))}
      />
      <Shown />
    </Page>
  );
}
