/** Shown only where an answer takes longer than 300 ms. */
export const Waiting = ({ what }: { what: string }) => (
  <p className="waiting" role="status">
    Reading {what} …
  </p>
);
