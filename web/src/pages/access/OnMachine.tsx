import { CommandLine } from "../../parts/CopyButton";

/** The same by the command line, which changes the store itself. */
export const OnMachine = ({ text }: { text: string }) => (
  <div className="stack">
    <CommandLine text={text} />
    <p className="dim small">
      On the service&#8217;s machine; with the <code>--store</code> or <code>--file</code> that the service was started with.
    </p>
  </div>
);
