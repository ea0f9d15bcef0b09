import { useEffect, useState } from "react";

/** A field that filters by what is typed, once typing pauses. */
export function Filter({ label, value, change }: { label: string; value: string; change: (value: string) => void }) {
  const [text, setText] = useState(value);
  const [given, setGiven] = useState(value);
  if (given !== value) {
    // It was changed from outside of this field: what is typed here is not.
    setGiven(value);
    if (value !== text.trim()) setText(value);
  }
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const timer = setTimeout(() => change(text.trim()), 300);
    return () => clearTimeout(timer);
  });
  return (
    <input
      className="input"
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
