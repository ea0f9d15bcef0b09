import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { Age } from "../parts/Age";
import { sentence } from "../parts/ProblemNotice";
import { Shape } from "../parts/Shape";

/** Clusters whose links are not known just now, with why and what to do. */
export const Unread = ({ clusters }: { clusters: readonly Schemas["ClusterAnswer"][] }) => {
  const failed = clusters.filter((cluster) => cluster.problem !== null);
  const begun = clusters.filter((cluster) => cluster.problem === null);
  return (
    <>
      {failed.length ? (
        <section className="stack" aria-label="Clusters that cannot be read">
          {failed.map((cluster) => (
            <div key={cluster.name} className="notice warn">
              <div className="notice-title">
                <Shape name="triangle" size={12} />
                <span>Cluster {cluster.name} cannot be read</span>
              </div>
              <p>{sentence(cluster.problem?.detail ?? "")}</p>
              {cluster.problem?.hint ? <p className="dim">What to do: {cluster.problem.hint}</p> : null}
              <p className="dim small">
                {cluster.read_at_ms === null ? (
                  "Its links are not known: it was never read since the service started."
                ) : (
                  <>
                    What is shown of it was read <Age ms={cluster.read_at_ms} />.
                  </>
                )}{" "}
                <Link href="/clusters">All clusters</Link>
              </p>
            </div>
          ))}
        </section>
      ) : null}
      {begun.length ? (
        <p className="dim" role="status">
          Not read yet: {begun.map((cluster) => cluster.name).join(", ")}
        </p>
      ) : null}
    </>
  );
};
