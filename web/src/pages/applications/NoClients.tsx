import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { routesQuery } from "../../api/queries";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";

/** Before the first application registers: the next step towards it. */
export function NoClients() {
  const query = useQuery(routesQuery);
  return (
    <section className="panel" aria-label="Clients">
      <Fetched query={query} what="the route table">
        {(table) => (
          <Empty title="No application has registered yet">
            {table === null ? (
              <>
                <p className="dim">
                  Applications name a cluster code, and there is no <Link href="/routes">route table</Link> that has one. Publish it:
                </p>
                <CommandLine text="anabranch route apply -f FILE --reason WHY --execute" />
              </>
            ) : (
              <>
                <p className="dim">
                  One registers by itself as soon as it runs with a code of the <Link href="/routes">route table</Link> in{" "}
                  <code>cluster.code</code>, and with a token of the role client. On the service&#8217;s machine:
                </p>
                <CommandLine text="anabranch account add NAME --role client" />
                <CommandLine text="anabranch token create NAME" />
              </>
            )}
          </Empty>
        )}
      </Fetched>
    </section>
  );
}
