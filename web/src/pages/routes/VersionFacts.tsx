import type { Schemas } from "../../api/client";
import { Age } from "../../parts/Age";
import { Facts } from "../../parts/Facts";

export const VersionFacts = ({ version }: { version: Schemas["VersionSummary"] }) => (
  <Facts
    facts={[
      ["published", <Age key="at" ms={version.at_ms} absolute />],
      ["by", version.author],
      ["reason", version.reason],
    ]}
  />
);
