import type { Schemas } from "../api/client";
import { bytes, counted, whole } from "../format/numbers";
import { Age } from "../parts/Age";
import { Facts } from "../parts/Facts";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";

/** A rewrite of a checkpoint: every stored position now and then, and every refusal. */
export function RewriteBody({ plan }: { plan: Schemas["RewritePlan"] }) {
  return (
    <div className="stack">
      <Facts
        facts={[
          ["checkpoint", plan.path],
          ["format", plan.format],
          ["route", plan.route],
          ["last written", <Age key="age" ms={plan.newest_write_ms} />],
          [
            "unmodified restart",
            `would repeat ${whole(plan.repeated)} and skip ${whole(plan.skipped)} records` +
              (plan.uncounted ? `; of ${counted(plan.uncounted, "position")} this is not known` : ""),
          ],
        ]}
      />
      {plan.refusals.length ? <Reasons reasons={plan.refusals} /> : null}
      <Table
        caption="Stored positions"
        rows={plan.changes}
        rowKey={(change, index) => `${change.old.location}${change.old.partition}${change.old.role}${index}`}
        columns={[
          { key: "source", label: "source", head: "Source", cell: ({ old }) => plan.names[old.source] ?? old.source },
          { key: "role", label: "role", head: "Role", cell: ({ old }) => old.role },
          { key: "partition", label: "partition", head: "Partition", cell: ({ old }) => old.partition },
          { key: "old", label: "now", head: "Now", number: true, cell: ({ old }) => offset(old.offset) },
          { key: "to", label: "becomes", head: "Becomes", cell: ({ moved }) => moved?.partition ?? "stays" },
          {
            key: "new",
            label: "then",
            head: "Then",
            number: true,
            cell: ({ moved }) => (moved === null ? "" : <span className="change-new">{whole(moved.offset)}</span>),
          },
          {
            key: "restart",
            label: "unmodified restart",
            head: "Unmodified restart",
            cell: ({ moved }) => moved?.unmodified_restart ?? "",
          },
          { key: "note", label: "note", head: "Note", cell: ({ moved }) => moved?.note ?? "" },
        ]}
      />
      <Files files={plan.files} />
      {plan.notes.length ? (
        <ul className="stack small dim">
          {plan.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

const offset = (value: number | string | null): string => (typeof value === "number" ? whole(value) : (value ?? "none"));

export const Files = ({ files }: { files: readonly Schemas["FileChange"][] }) =>
  files.length === 0 ? (
    <p className="dim">No file would be written.</p>
  ) : (
    <Table
      caption="Files"
      rows={files}
      rowKey={(file) => file.path}
      columns={[
        { key: "file", label: "file", head: "File", cell: (file) => <code className="anywhere">{file.path}</code> },
        { key: "effect", label: "effect", head: "Effect", cell: (file) => file.effect },
        { key: "old", label: "bytes now", head: "Now", number: true, cell: (file) => (file.old_bytes === null ? "" : bytes(file.old_bytes)) },
        { key: "new", label: "bytes then", head: "Then", number: true, cell: (file) => (file.new_bytes === null ? "" : bytes(file.new_bytes)) },
      ]}
    />
  );
