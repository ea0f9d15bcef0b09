import { Fragment, useEffect, useState } from "react";
import { Download } from "./Download";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(""), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Select it and copy");
    }
  };
  return (
    <button type="button" className="button little" onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}

interface CommandProps {
  text: string;
  label?: string;
  /** What the command reads, by the names that it has for them. */
  files?: Readonly<Record<string, string>>;
}

/** A command line with a button that copies it, and the files without which it could not be run. */
export const CommandLine = ({ text, label = "Copy as CLI", files = {} }: CommandProps) => (
  <>
    <div className="command">
      <code>
        {text.split(" ").map((word, index) => (
          // An option is not broken behind its dashes; the spaces between are text, so that what is marked can be copied.
          <Fragment key={index}>
            {index ? " " : ""}
            <span>{word}</span>
          </Fragment>
        ))}
      </code>
      <CopyButton text={text} label={label} />
    </div>
    {Object.entries(files).map(([name, content]) => (
      <details key={name} open>
        <summary>
          The command reads <code>{name}</code>: keep this there
        </summary>
        <div className="command">
          <pre tabIndex={0} aria-label={name}>
            {content}
          </pre>
          <span className="row">
            <CopyButton text={content} label={`Copy ${name}`} />
            <Download name={name} text={content} little />
          </span>
        </div>
      </details>
    ))}
  </>
);
