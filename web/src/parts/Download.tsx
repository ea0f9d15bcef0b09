interface Props {
  name: string;
  text: string;
  /** What the button says; else that it saves this file. */
  label?: string;
  little?: boolean;
  kind?: string;
}

/** A text that the browser saves as a file. */
export const Download = ({ name, text, label = `Save ${name}`, little = false, kind = "text/plain" }: Props) => (
  <button type="button" className={little ? "button little" : "button"} onClick={() => save(name, text, kind)}>
    {label}
  </button>
);

function save(name: string, text: string, kind: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
