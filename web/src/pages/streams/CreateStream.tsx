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

/** A new stream, in place of \`stream create\`. */
export const CreateStream = () => (
  <Page
    title="Create a stream"
    crumbs={[["Streams", "/streams"]]}
    under={<p className="dim">Nothing is saved before the plan is applied, and nothing runs before the stream is started.</p>}
  >
    <StreamForm
      verb="streams.create"
      title="Create a stream"
      label="Plan the new stream"
      fields={FIELDS}
      values={{ stream: "", description: "", trigger: "1 second", restarts: "5", launcher: "default" }}
      script={FIRST}
      given={{}}
    />
  </Page>
);
