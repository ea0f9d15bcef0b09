import type { Schemas } from "../api/client";
import { counted, rate, whole } from "../format/numbers";
import { moment } from "../format/times";
import { Document } from "../parts/Document";
import { Facts } from "../parts/Facts";
import { Reasons } from "../parts/Reasons";
import { Table } from "../parts/Table";
import { GroupsBody } from "./GroupsBody";
import { AbortBody } from "./AbortBody";
import { AccessBody } from "./AccessBody";
import { DefineBody, DropBody, EntryBody, GrantBody, ImportBody, MembersBody } from "./CatalogBodies";
import { AcceptBody, ChangeBody, CreateBody, DeleteBody } from "./LinkBodies";
import { GiveUpBody, HoldBody, RehearsalBody, SetBody, StartBody, ThrottleBody, WaveRunBody } from "./MigrationBodies";
import { PublishBody } from "./MirrorBody";
import { Files, RewriteBody } from "./RewriteBody";
import { CancelSwitchBody, RoutesBody } from "./RoutesBody";
import { AbandonStreamBody, AlertsBody, DeleteArtifactBody, DeleteStreamBody, PublishStreamBody, RunStreamBody, SavedCheckpointBody, SaveStreamBody } from "./StreamBodies";

/** What a plan would change, as each verb shows it best. */
export function PlanBody({ plan }: { plan: Schemas["PlanAnswer"] }) {
  const document: unknown = plan.plan;
  switch (plan.verb) {
    case "links.pause":
    case "links.resume":
    case "links.set":
      return <ChangeBody plan={document as Schemas["ChangeLinkPlan"]} />;
    case "links.create":
      return <CreateBody plan={document as Schemas["CreateLinkPlan"]} />;
    case "links.accept":
      return <AcceptBody plan={document as Schemas["AcceptPlan"]} />;
    case "links.abort-transaction":
      return <AbortBody plan={document as Schemas["AbortPlan"]} />;
    case "links.delete":
      return <DeleteBody plan={document as Schemas["DeletePlan"]} />;
    case "links.run":
      return <RunBody plan={document as Schemas["RunPlan"]} />;
    case "links.wait":
      return <WaitBody plan={document as Schemas["WaitPlan"]} />;
    case "links.stop":
      return <StopBody plan={document as Schemas["StopPlan"]} />;
    case "groups.sync":
      return <SyncBody plan={document as Schemas["GroupsPlan"]} />;
    case "groups.baseline":
      return <BaselineBody plan={document as Schemas["BaselinePlan"]} />;
    case "groups.create":
      return <BeginBody plan={document as Schemas["CreatePlan"]} />;
    case "mirrormaker.publish":
      return <PublishBody plan={document as Schemas["PublishPlan"]} />;
    case "groups.undo":
      return <UndoBody plan={document as Schemas["UndoPlan"]} />;
    case "routes.apply":
    case "routes.rollback":
      return <RoutesBody plan={document as Schemas["RoutesPlan"]} request={plan.request} />;
    case "routes.cancel":
      return <CancelSwitchBody plan={document as Schemas["CancelSwitchPlan"]} />;
    case "verify.start":
    case "verify.resume":
      return <ComparisonBody plan={document as Schemas["ComparisonPlan"]} />;
    case "verify.stop":
      return <p>The comparison would be asked to end; `resume` goes on with it up to the same pins.</p>;
    case "checkpoints.rewrite":
      return <RewriteBody plan={document as Schemas["RewritePlan"]} />;
    case "offsets.rebuild":
      return <MapsBody plan={document as Schemas["AlignmentPlan"]} />;
    case "checkpoints.undo":
      return <UndoRewriteBody plan={document as Schemas["UndoRewritePlan"]} />;
    case "migrations.start":
      return <StartBody plan={document as Schemas["MigrationPlan"]} />;
    case "migrations.verify":
    case "migrations.switch":
    case "migrations.reverse":
    case "migrations.reconcile":
    case "migrations.complete":
    case "migrations.cancel":
      return <WaveRunBody plan={document as Schemas["WaveRunPlan"]} />;
    case "migrations.give-up":
      return <GiveUpBody plan={document as Schemas["GiveUpPlan"]} />;
    case "migrations.hold":
    case "migrations.release":
      return <HoldBody plan={document as Schemas["HoldPlan"]} />;
    case "migrations.throttle":
    case "migrations.resume":
      return <ThrottleBody plan={document as Schemas["ThrottlePlan"]} />;
    case "migrations.rehearse":
      return <RehearsalBody plan={document as Schemas["RehearsalPlan"]} />;
    case "migrations.access":
      return <AccessBody plan={document as Schemas["AccessPlan"]} />;
    case "migrations.set":
      return <SetBody plan={document as Schemas["SetPlan"]} />;
    case "streams.create":
    case "streams.edit":
      return <SaveStreamBody plan={document as Schemas["SaveStreamPlan"]} request={plan.request} />;
    case "streams.publish":
    case "streams.rollback":
      return <PublishStreamBody plan={document as Schemas["PublishStreamPlan"]} />;
    case "streams.start":
    case "streams.stop":
    case "streams.restart":
      return <RunStreamBody plan={document as Schemas["RunStreamPlan"]} />;
    case "streams.checkpoint":
      return <SavedCheckpointBody plan={document as Schemas["CheckpointPlan"]} />;
    case "streams.delete":
      return <DeleteStreamBody plan={document as Schemas["DeleteStreamPlan"]} />;
    case "streams.abandon":
      return <AbandonStreamBody plan={document as Schemas["AbandonStreamPlan"]} />;
    case "streams.alerts":
      return <AlertsBody plan={document as Schemas["AlertsPlan"]} />;
    case "artifacts.delete":
      return <DeleteArtifactBody plan={document as Schemas["DeleteArtifactPlan"]} />;
    case "catalog.create":
      return <DefineBody plan={document as Schemas["DefinePlan"]} />;
    case "catalog.drop":
      return <DropBody plan={document as Schemas["DropPlan"]} />;
    case "catalog.grant":
    case "catalog.revoke":
      return <GrantBody plan={document as Schemas["GrantPlan"]} />;
    case "catalog.import":
      return <ImportBody plan={document as Schemas["ImportPlan"]} />;
    case "catalog.set":
      return <EntryBody plan={document as Schemas["EntrySetPlan"]} />;
    case "catalog.group":
      return <MembersBody plan={document as Schemas["MembersPlan"]} />;
    default:
      return <Document value={withoutHash(plan.plan)} />;
  }
}

const withoutHash = (plan: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(plan).filter(([name]) => name !== "hash"));

const RunBody = ({ plan }: { plan: Schemas["RunPlan"] }) => (
  <div className="stack">
    <p>A run of the link would start on this machine, and go on exactly at the link&#8217;s positions.</p>
    <Facts
      facts={[
        ["source", plan.source],
        ["target", plan.target],
        ["Spark master", plan.master],
        ["lease", `${whole(plan.lease_seconds)} s`],
      ]}
    />
  </div>
);

const StopBody = ({ plan }: { plan: Schemas["StopPlan"] }) => (
  <p>
    {plan.runs.length
      ? `${plan.runs.join(", ")} would be asked to end` +
        (plan.wait_s ? `; their end is waited for, ${whole(plan.wait_s)} s at most.` : ".")
      : "The link does not run: nobody would be asked."}
  </p>
);

function SyncBody({ plan }: { plan: Schemas["GroupsPlan"] }) {
  const of = (step: string) => plan.groups.filter((group) => group.step === step).length;
  return (
    <div className="stack">
      <p className="strong">
        {counted(of("move"), "group")} would move, {whole(of("in sync"))} in sync, {whole(of("refused"))} refused
      </p>
      <GroupsBody groups={plan.groups} />
    </div>
  );
}

const BaselineBody = ({ plan }: { plan: Schemas["BaselinePlan"] }) => (
  <Table
    caption="Baselines"
    rows={plan.baselines.flatMap((one) => one.partitions.map((partition) => ({ ...partition, group: one.group })))}
    rowKey={(one) => `${one.group} ${one.source}`}
    columns={[
      { key: "group", label: "group", head: "Group", cell: (one) => one.group },
      { key: "source", label: "partition", head: "Partition", cell: (one) => one.source },
      { key: "commit", label: "committed", head: "Committed", number: true, cell: (one) => whole(one.commit.offset) },
      { key: "coverage", label: "coverage", head: "Coverage", cell: (one) => one.coverage },
    ]}
  />
);

const BeginBody = ({ plan }: { plan: Schemas["CreatePlan"] }) => (
  <div className="stack">
    {plan.refusals.length ? <Reasons reasons={plan.refusals} /> : null}
    <Table
      caption="Where the group begins"
      rows={Object.entries(plan.begins)}
      rowKey={([partition]) => partition}
      columns={[
        { key: "partition", label: "partition", head: "Partition", cell: ([partition]) => partition },
        { key: "offset", label: "begins at", head: "Begins at", number: true, cell: ([, commit]) => whole(commit.offset) },
      ]}
    />
    {plan.notes.map((note) => (
      <p key={note} className="dim">
        {note}
      </p>
    ))}
  </div>
);

const UndoBody = ({ plan }: { plan: Schemas["UndoPlan"] }) => (
  <div className="stack-wide">
    {plan.groups.map((group) => (
      <section key={group.record.group} className="stack">
        <h3>{group.record.group}</h3>
        {group.refusals.length ? <Reasons reasons={group.refusals} /> : null}
        <Table
          caption={`Positions of ${group.record.group}`}
          rows={Object.entries(group.record.wrote)}
          rowKey={([partition]) => partition}
          columns={[
            { key: "partition", label: "partition", head: "Partition", cell: ([partition]) => partition },
            { key: "now", label: "was moved to", head: "Was moved to", number: true, cell: ([, commit]) => whole(commit.offset) },
            {
              key: "then",
              label: "goes back to",
              head: "Goes back to",
              number: true,
              cell: ([partition]) => {
                const former = group.record.former[partition];
                return former ? <span className="change-new">{whole(former.offset)}</span> : "no commit";
              },
            },
          ]}
        />
        {group.delete_group ? <p className="dim">The group did not exist before: it would be deleted.</p> : null}
      </section>
    ))}
  </div>
);

const ComparisonBody = ({ plan }: { plan: Schemas["ComparisonPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {counted(plan.lanes, "lane")} with {counted(plan.offsets, "source offset")} would be compared
    </p>
    <Facts
      facts={[
        ["reads", plan.options.reader],
        ["isolation levels", plan.options.levels],
        ["rate limit", plan.options.rate_limit === null ? "none" : rate(plan.options.rate_limit)],
        ["samples", whole(plan.options.samples)],
        ["values", plan.options.values ? "shown" : "masked"],
      ]}
    />
    {plan.forgets.length ? (
      <>
        <h3>Thrown away, and compared again</h3>
        <Document
          value={Object.fromEntries(
            plan.forgets.map((one) => [
              one.lane,
              `compared from ${whole(one.source_from)} to ${whole(one.source_to)}, ${counted(one.differs, "chunk")} with differences`,
            ]),
          )}
        />
      </>
    ) : null}
    {Object.keys(plan.doubts).length ? (
      <>
        <h3>Not compared</h3>
        <Document value={plan.doubts} />
      </>
    ) : null}
  </div>
);

const MapsBody = ({ plan }: { plan: Schemas["AlignmentPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {counted(plan.lanes, "partition")} with {counted(plan.offsets, "source offset")} would be read on both clusters, and aligned
    </p>
    <Table
      caption="Topics and their copies"
      rows={Object.entries(plan.topics)}
      rowKey={([name]) => name}
      columns={[
        { key: "source", label: "source", head: "Source", cell: ([name]) => name },
        { key: "copy", label: "copy", head: "Copy", cell: ([, copy]) => copy },
      ]}
    />
    <p className="dim">The maps are a file of the service&#8217;s machine, that the link {plan.link} can adopt.</p>
  </div>
);

const WaitBody = ({ plan }: { plan: Schemas["WaitPlan"] }) => (
  <div className="stack">
    <p className="strong">
      {counted(plan.partitions, "partition")} of the source would be waited for, {counted(plan.records, "record")} of them as of now
    </p>
    <p>{plan.left}.</p>
    <p className="dim">What the source holds is read again as the wait begins; what comes later is not waited for.</p>
  </div>
);

const UndoRewriteBody = ({ plan }: { plan: Schemas["UndoRewritePlan"] }) => (
  <div className="stack">
    <p>
      The rewrite of {moment(plan.at_ms)} would be taken back, byte for byte
      {plan.finished ? "" : "; it had broken off"}.
    </p>
    {plan.refusals.length ? <Reasons reasons={plan.refusals} /> : null}
    <Files files={plan.files} />
  </div>
);
