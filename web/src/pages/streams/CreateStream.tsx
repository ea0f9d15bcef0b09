import { useSearchParams } from "wouter";
import type { TextKind } from "../../editor/language";
import { Page } from "../../parts/Page";
import type { FieldSpec } from "../../plans/specs";
import { StreamForm } from "./StreamForm";

export const SETTINGS: readonly FieldSpec[] = [
  { name: "trigger", label: "A micro-batch begins every", kind: "text", required: true, hint: "Such as 5 seconds; availableNow reads what there is and ends." },
  { name: "restarts", label: "Started again within an hour", kind: "number", required: true, hint: "At most so often, 0 to 100; 0 for never." },
  { name: "launcher", label: "Runs on", kind: "text", required: true, hint: "A launcher of the service's file, or default: the service's own master." },
];

const FIELDS: readonly FieldSpec[] = [
  { name: "stream", label: "Name", kind: "text", required: true, hint: "Small letters, digits, dots, - and _." },
  { name: "description", label: "Description", kind: "text", hint: "What it is for." },
  ...SETTINGS,
];

const FIRST = `-- a table of rows to read, one to write, and a query from the one into the other
CREATE TABLE views (page STRING, user_id BIGINT, at TIMESTAMP)
USING kafka OPTIONS (cluster 'CODE', topic 'views', format 'json');

CREATE TABLE counted (page STRING, views BIGINT)
USING console;

INSERT INTO counted
SELECT page, count(*) FROM views GROUP BY page;
`;

const FIRST_FILE = `from pyspark.sql import functions as F


def main(job):
    read = job.spark.readStream.format("kafka").options(**job.kafka_source("CODE", "views")).load()
    late = read.where(F.col("timestamp") < F.current_timestamp() - F.expr("INTERVAL 1 MINUTE"))
    out = late.select("key", "value").writeStream.format("anabranch-kafka")
    job.start(out.options(**job.kafka_sink("CODE", "late-views")), "late")
`;

/** A new stream, in place of \`stream create\`; the page's address has its kind. */
export function CreateStream() {
  const [search, setSearch] = useSearchParams();
  const kind: TextKind = search.get("kind") === "pyspark" ? "pyspark" : "sql";
  return (
    <Page
      title="Create a stream"
      crumbs={[["Streams", "/streams"]]}
      under={<p className="dim">Nothing is saved before the plan is applied, and nothing runs before the stream is started.</p>}
    >
      <div className="segments" role="radiogroup" aria-label="What it is">
        {(["sql", "pyspark"] as const).map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="kind"
              className="hidden"
              checked={kind === one}
              onChange={() => setSearch(one === "sql" ? new URLSearchParams() : { kind: one }, { replace: true })}
            />
            {one === "sql" ? "a script of SQL" : "a file of PySpark"}
          </label>
        ))}
      </div>
      <StreamForm
        key={kind}
        verb="streams.create"
        title="Create a stream"
        label="Plan the new stream"
        fields={FIELDS}
        values={{ stream: "", description: "", trigger: "1 second", restarts: "5", launcher: "default" }}
        script={kind === "sql" ? FIRST : FIRST_FILE}
        kind={kind}
        given={kind === "sql" ? {} : { kind }}
      />
    </Page>
  );
}
