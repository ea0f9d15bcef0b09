/** What is wrong with what was typed, or nothing. */
export const Wrong = ({ what }: { what: string | null }) =>
  what === null ? null : (
    <p className="wrong" role="alert">
      {what}
    </p>
  );
