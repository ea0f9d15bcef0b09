import { Page } from "../../parts/Page";
import { Tabs } from "../../parts/Tabs";
import { NotThere } from "../NotThere";
import { Define } from "./Define";
import { Entries } from "./Entries";
import { Grants } from "./Grants";
import { Groups } from "./Groups";
import { ImportTopics } from "./ImportTopics";

const TABS = [
  ["", "Entries", Entries],
  ["define", "Define", Define],
  ["import", "Import topics", ImportTopics],
  ["grants", "Grants", Grants],
  ["groups", "Groups", Groups],
] as const;

/** Databases, tables, views and functions that streams share, and who may use them. */
export function Catalog({ tab }: { tab: string }) {
  const found = TABS.find(([name]) => name === tab);
  if (found === undefined) return <NotThere />;
  const [, , Shown] = found;
  return (
    <Page title="Catalog" under={<p className="dim">Tables, views and functions that streams share. It shows what you have a privilege on.</p>}>
      <Tabs
        label="Catalog"
        tabs={TABS.map(([name, label]) => ({ href: name === "" ? "/catalog" : `/catalog/${name}`, label, current: tab === name }))}
      />
      <Shown />
    </Page>
  );
}
