import { CommandLine } from "../parts/CopyButton";
import { Empty } from "../parts/Empty";

/** Where a link is wanted and no cluster is known yet. */
export const NoCluster = () => (
  <Empty title="No cluster is known, and a link needs two">
    <p className="dim">Add them on the service&#8217;s machine; this page knows them within seconds.</p>
    <CommandLine text="anabranch context add NAME --bootstrap HOST:9092" />
  </Empty>
);
