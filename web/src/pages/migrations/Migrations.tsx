import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { migrationsQuery } from "../../api/queries";
import { HeldBadge } from "../../migrations/WaveBadge";
import { migrationPath, openRun, underWayWords, wavesWords, type MigrationSummary } from "../../migrations/waves";
import { Age } from "../../parts/Age";
import { CommandLine } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { Fetched } from "../../parts/Fetched";
import { MoreRows } from "../../parts/MoreRows";
import { Page } from "../../parts/Page";
import { Table } from "../../parts/Table";

/** Every migration: how far its waves are, and what is under way. */
export function Migrations() {
  const query = useQuery(migrationsQuery);
  return (
    <Page
      title="Migrations"
      actions={
        <Link className="button main" href="/migrations/-/start">
          Start a migration
        </Link>
      }
      under={<p className="dim">Applications that are moved from one cluster to another while they run, wave by wave.</p>}
    >
      <Fetched query={query} what="the migrations">
        {(found) =>
          found.length === 0 ? (
            <NoMigrations />
          ) : (
            <section className="panel" aria-label="Migrations">
              <MoreRows rows={found} what="migrations">
                {(rows) => (
                  <div className="flush">
                    <Rows migrations={rows} />
                  </div>
                )}
              </MoreRows>
            </section>
          )
        }
      </Fetched>
    </Page>
  );
}

const NoMigrations = () => (
  <div className="panel">
    <Empty title="No migration has begun yet">
      <p className="dim">
        Have a migration file written from what the source holds, make it yours, look at its plan, and start it; or{" "}
        <Link href="/migrations/-/start">start it here</Link>.
      </p>
      <CommandLine text="anabranch migrate discover --source SOURCE --target TARGET --out move.yaml" />
      <CommandLine text="anabranch migrate plan -f move.yaml" />
      <CommandLine text="anabranch migrate start -f move.yaml --execute" />
    </Empty>
  </div>
);

const Rows = ({ migrations }: { migrations: readonly MigrationSummary[] }) => (
  <Table
    caption="Migrations"
    rows={migrations}
    rowKey={(one) => one.name}
    columns={[
      {
        key: "name",
        label: "migration",
        head: "Migration",
        cell: (one) => (
          <Link href={migrationPath(one.name)} className="strong anywhere">
            {one.name}
          </Link>
        ),
      },
      { key: "from", label: "from", head: "From", cell: (one) => <span className="anywhere">{one.source}</span> },
      { key: "to", label: "to", head: "To", cell: (one) => <span className="anywhere">{one.target}</span> },
      { key: "waves", label: "waves", head: "Waves", cell: (one) => wavesWords(one.waves) },
      { key: "now", label: "under way", head: "Under way", cell: (one) => <UnderWay migration={one} /> },
      { key: "held", label: "held", head: "Held", cell: (one) => <Held migration={one} /> },
      { key: "began", label: "began", head: "Began", cell: (one) => <Age ms={one.created_ms} /> },
      { key: "author", label: "by", head: "By", cell: (one) => <span className="anywhere">{one.author}</span> },
    ]}
  />
);

const MOST = 3;

function UnderWay({ migration: { waves } }: { migration: MigrationSummary }) {
  const runs = waves.map(openRun).filter((run) => run !== null);
  if (runs.length === 0) return <span className="dim">nothing</span>;
  return (
    <div className="told">
      {runs.slice(0, MOST).map((run) => (
        <div key={run.id}>
          {underWayWords(run)}
          {run.waits ? <div className="small dim">{run.waits}</div> : null}
        </div>
      ))}
      {runs.length > MOST ? <div className="dim">and {runs.length - MOST} more</div> : null}
    </div>
  );
}

function Held({ migration }: { migration: MigrationSummary }) {
  const waves = migration.waves.filter((wave) => wave.held !== "" && wave.held !== migration.held);
  if (migration.held === "" && waves.length === 0) return <span className="dim">no</span>;
  return (
    <div className="told">
      <HeldBadge />
      {migration.held ? <div className="small">{migration.held}</div> : null}
      {waves.map((wave) => (
        <div key={wave.name} className="small">
          wave {wave.name}: {wave.held}
        </div>
      ))}
    </div>
  );
}
