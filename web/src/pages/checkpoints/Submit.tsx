import { Button } from "../../parts/Button";

export const Submit = ({ label, why }: { label: string; why: string | null }) => (
  <div>
    {why === null ? (
      <button type="submit" className="button main">
        {label}
      </button>
    ) : (
      <Button why={why} act={() => undefined}>
        {label}
      </Button>
    )}
  </div>
);
