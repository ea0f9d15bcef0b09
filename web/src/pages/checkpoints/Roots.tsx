/** Where checkpoints may be. */
export const Roots = ({ roots }: { roots: readonly string[] }) => (
  <>
    Below{" "}
    {roots.map((root, index) => (
      <span key={root}>
        {index ? ", " : ""}
        <code className="anywhere">{root}</code>
      </span>
    ))}
  </>
);
