import { Link } from "wouter";
import { useWhyNotPlan } from "../../session/me";
import { Button } from "../../parts/Button";

/** The way to the editor of a new stream; who may not plan is told why. */
export function CreateLink({ main = false }: { main?: boolean }) {
  const why = useWhyNotPlan();
  if (why !== null) {
    return (
      <Button why={why} act={() => undefined}>
        Create a stream
      </Button>
    );
  }
  return (
    <Link className={main ? "button main" : "button"} href="/streams/-/create">
      Create a stream
    </Link>
  );
}
