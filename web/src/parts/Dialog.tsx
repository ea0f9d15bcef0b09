import { useEffect, useId, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  close: () => void;
  foot: ReactNode;
  children: ReactNode;
}

/** A dialog of the browser's own: it holds the focus, Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, close, foot, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const found = box.current;
    const before = document.activeElement;
    if (found !== null && !found.open) found.showModal();
    return () => {
      found?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="button quiet" onClick={close} aria-label="Close">
          ✕
        </button>
      </div>
      <div className="dialog-body" tabIndex={0} role="group" aria-label="Content">
        {children}
      </div>
      <div className="dialog-foot">{foot}</div>
    </dialog>
  );
}
