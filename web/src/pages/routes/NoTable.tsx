import { Link } from "wouter";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";

/** What is shown before the first table is published. */
export const NoTable = () => (
  <div className="panel">
    <Empty title="No route table has been published yet">
      <p className="dim">
        It says which cluster each code leads to. Write a routes file, look at its plan, and publish it; or{" "}
        <Link href="/routes/change">write the first table here</Link>.
      </p>
      <CommandLine text="anabranch route apply -f FILE --reason WHY --execute" />
    </Empty>
  </div>
);
