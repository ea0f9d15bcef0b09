import { useEffect, useState } from "react";

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

/** A command line with a button that copies it. */
export const CommandLine = ({ text, label = "Copy as CLI" }: { text: string; label?: string }) => (
  <div className="command">
    <code>{text}</code>
    <CopyButton text={text} label={label} />
  </div>
);
