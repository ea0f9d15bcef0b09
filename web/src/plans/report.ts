import type { Schemas } from "../api/client";
import { counted, either, seconds, whole } from "../format/numbers";
import { moment } from "../format/times";
import { abortedWords } from "./AbortBody";
import { publishedWords } from "./MirrorBody";

/** How an operation ended, in a sentence; empty where its verb has none of its own. */
export function reportWords(work: Schemas["Work"]): string {
  const report = work.report as Record<string, unknown> | null;
  if (report === null || typeof report !== "object") return "";
  const link = String(work.request["link"] ?? "");
  switch (work.verb) {
    case "links.pause":
      return `Link ${link} is paused; its workers obey within two seconds.`;
    case "links.resume":
      return `Link ${link} goes on; its workers obey within two seconds.`;
    case "links.set":
      return `Link ${link} was changed; its workers obey within two seconds.`;
    case "links.create":
      return `The link ${linkOf(report)} is stored. It copies nothing before it is run.`;
    case "links.delete":
      return `Link ${link} was forgotten; what it copied stays.`;
    case "links.accept":
      return "The decisions are stored; the lanes go on within two seconds.";
    case "links.abort-transaction":
      return abortedWords(report as unknown as Schemas["AbortReport"]);
    case "mirrormaker.publish":
      return publishedWords(report as unknown as Schemas["Published"]);
    case "links.run":
      return `${String(report["run"])} runs as process ${String(report["process"])}; its log is ${String(report["log"])}.`;
    case "links.stop": {
      const runs = report["runs"] as string[];
      if (runs.length === 0) return `Link ${link} did not run.`;
      return report["ended"] ? `${runs.join(", ")} ended.` : `${runs.join(", ")} was asked to end, and has not ended yet.`;
    }
    case "links.wait": {
      const { behind, read_at_ms } = report as unknown as Schemas["CaughtUp"];
      const what = `what the source held at ${moment(read_at_ms)}`;
      return behind ? `Link ${link} lacks ${counted(behind, "record")} of ${what}.` : `Link ${link} has copied ${what}.`;
    }
    case "groups.sync":
      return moved(report as unknown as Schemas["GroupsMoved"]);
    case "groups.baseline": {
      const baselines = report["baselines"] as unknown[];
      return `${counted(baselines.length, "baseline")} ${report["stored"] ? "stored" : "as they were"}.`;
    }
    case "groups.create": {
      const begun = Object.keys(report["begins"] as object).length;
      return `Group ${String(report["group"])} begins in ${counted(begun, "partition")}; undo record ${String(report["undo"])}.`;
    }
    case "groups.undo": {
      const groups = report["groups"] as Schemas["GroupUndo"][];
      return `${whole(groups.filter((one) => one.done).length)} of ${counted(groups.length, "group")} went back.`;
    }
    case "verify.start":
    case "verify.resume":
      return compared(report as unknown as Partial<Schemas["ComparisonReport"]>);
    case "verify.stop":
      return report["asked"] ? "The comparison was asked to end." : "No comparison ran.";
    case "routes.apply":
    case "routes.rollback":
      return published(report as unknown as Schemas["RoutesPublished"]);
    case "routes.cancel":
      return "The switch was given up, and every client is where it was.";
    case "migrations.start":
      return started(report as unknown as Schemas["StartReport"]);
    case "migrations.verify":
    case "migrations.switch":
    case "migrations.reverse":
    case "migrations.reconcile":
    case "migrations.complete":
    case "migrations.cancel":
      return ended(report as unknown as Schemas["WaveRunReport"]);
    case "migrations.give-up":
      return `${subject(report as unknown as Schemas["WaveRunReport"])} was taken back, and all is as before it.`;
    case "migrations.hold":
      return `${held(work)} wait until that is released.`;
    case "migrations.release":
      return `${held(work)} need not wait any more.`;
    case "migrations.throttle":
    case "migrations.resume":
      return `Links of migration ${String(report["migration"])} obey within some seconds.`;
    case "migrations.access": {
      const { target, created, deleted, quotas } = report as unknown as Schemas["AccessReport"];
      return `On ${target} ${counted(created.length, "access rule")} were made, ${whole(deleted.length)} deleted, and ${counted(quotas.length, "quota")} changed.`;
    }
    case "migrations.rehearse":
      return rehearsed(report as unknown as Schemas["RehearsalReport"]);
    case "migrations.set":
      return `Migration ${String(report["migration"])} was changed.`;
    case "offsets.rebuild":
      return mapped(report as unknown as Schemas["AlignmentReport"]);
    case "checkpoints.rewrite": {
      const undo = report["undo"];
      return (
        `The positions in ${String(report["path"])} were rewritten in ${seconds(Number(report["took_ms"]) / 1000)}` +
        (undo ? `; the backup ${String(undo)} takes it back.` : ".")
      );
    }
    case "checkpoints.undo":
      return "The checkpoint is as it was before the rewrite, byte for byte.";
    case "streams.create":
      return `Stream ${String(report["stream"])} is saved. Nothing runs before it is started.`;
    case "streams.edit":
      return `Version ${String(report["version"])} of stream ${String(report["stream"])} is saved. It runs once it is published and the stream is started again.`;
    case "streams.publish":
    case "streams.rollback":
      return `Version ${String(report["version"])} of stream ${String(report["stream"])} is published: the next start runs it.`;
    case "streams.start":
      return `Stream ${String(report["stream"])} is being started with version ${String(report["version"])}.`;
    case "streams.restart":
      return `Stream ${String(report["stream"])} ends after its micro-batch, and is started again with version ${String(report["version"])}.`;
    case "streams.stop":
      return `Stream ${String(report["stream"])} ends after its micro-batch.`;
    case "streams.delete":
      return `Stream ${String(report["stream"])} is forgotten; its checkpoints stay.`;
    case "streams.checkpoint":
      return report["verb"] === "save"
        ? `The checkpoints of stream ${String(report["stream"])} are saved as ${String(report["name"])}.`
        : `The saved checkpoint ${String(report["name"])} of stream ${String(report["stream"])} is gone.`;
    case "streams.abandon":
      return `The run of stream ${String(report["stream"])} is given up; the stream is wanted ${String(report["wanted"])}.`;
    case "streams.alerts":
      return `The alerts of ${report["target"] ? "link" : "stream"} ${String(report["stream"])} were changed.`;
    case "artifacts.delete":
      return `${counted((report["versions"] as number[]).length, "version")} of artifact ${String(report["artifact"])} forgotten.`;
    case "catalog.create":
    case "catalog.import":
      return defined(report as unknown as Schemas["Defined"]);
    case "catalog.drop": {
      const topic = String(report["topic"] ?? "");
      return `${String(report["name"])} is gone${topic ? `, and so is the topic ${topic}` : ""}.`;
    }
    case "catalog.grant":
    case "catalog.revoke": {
      const { grant, given } = report as unknown as Schemas["Granted"];
      return `${grant.principal} ${given ? "has" : "has no more"} ${grant.privilege} on ${grant.securable}.`;
    }
    case "catalog.set":
      return `${String(report["name"])} was changed.`;
    case "catalog.group": {
      const members = report["members"] as string[];
      return `Group ${String(report["group"])} has ${members.length ? members.join(", ") : "nobody"}.`;
    }
    default:
      return "";
  }
}

function defined({ changed, topics }: Schemas["Defined"]): string {
  const made = topics.length ? ` ${counted(topics.length, "topic")} ${either(topics.length, "was", "were")} made: ${topics.join(", ")}.` : "";
  return `${counted(changed.length, "entry", "entries")} of the catalog ${either(changed.length, "is", "are")} as defined: ${changed.join(", ")}.${made}`;
}

/** Reports of an older service have neither state nor verdict: its operations ended as the comparison began. */
function compared({ run, state, verdict, process }: Partial<Schemas["ComparisonReport"]>): string {
  const name = `The comparison ${String(run)}`;
  if (state === undefined || state === "running") return `${name} runs as process ${String(process)}.`;
  if (state === "stopped") return `${name} was stopped; what it compared is kept.`;
  return {
    equal: `${name} found both sides equal.`,
    different: `${name} found records that differ.`,
    unknown: `${name} could not compare all of it.`,
  }[verdict ?? "unknown"];
}

function published(report: Schemas["RoutesPublished"]): string {
  const groups = Object.keys(report.groups).length;
  return (
    `Version ${report.version} of the route table applies. ` +
    `${counted(report.moved, "client")} ${either(report.moved, "is", "are")} led otherwise, ${counted(groups, "group")} to another cluster.`
  );
}

function mapped(report: Schemas["AlignmentReport"]): string {
  const unclear = report.lanes.reduce((sum, lane) => sum + lane.unclear, 0);
  const records = report.lanes.reduce((sum, lane) => sum + lane.records, 0);
  const doubt = unclear ? ` ${counted(unclear, "offset span")} ${either(unclear, "is", "are")} unclear: positions there are refused.` : "";
  return `Maps of ${counted(report.lanes.length, "partition")} with ${counted(records, "record")} are in ${report.file}.${doubt}`;
}

function linkOf(report: Record<string, unknown>): string {
  const record = report["record"] as { wanted?: { spec?: { id?: string } } } | undefined;
  return record?.wanted?.spec?.id ?? "";
}

function moved(report: Schemas["GroupsMoved"]): string {
  const of = (step: string) => report.groups.filter((group) => group.step === step).length;
  const failed = of("failed") ? `, ${whole(of("failed"))} failed` : "";
  const undo = report.undo ? ` The undo record is ${report.undo}.` : "";
  return `${counted(of("moved"), "group")} moved, ${whole(of("in sync"))} in sync, ${whole(of("refused"))} refused${failed}.${undo}`;
}

const subject = ({ verb, wave }: Schemas["WaveRunReport"]): string => `The ${verb} of wave ${wave}`;

/** It goes on also where the service ended before it. */
function ended(report: Schemas["WaveRunReport"]): string {
  if (report.state !== "done") return `${subject(report)} is ${report.state}.`;
  const pause = report.pause_ms === null ? "" : `; applications were held up for ${whole(report.pause_ms)} ms`;
  const doubts = report.doubts?.length ? ` ${counted(report.doubts.length, "doubt")}: ${report.doubts.join("; ")}.` : "";
  return `${subject(report)} is done${pause}.${doubts}`;
}

/** How each part went, and for how long applications would have been held up. */
function rehearsed({ wave, runs, records, positions }: Schemas["RehearsalReport"]): string {
  const parts = runs.map((run) => `${run.verb} took ${seconds(run.took_ms / 1000)}${run.pause_ms === null ? "" : `, and held up for ${whole(run.pause_ms)} ms`}`);
  return `Wave ${wave} was rehearsed: ${parts.join("; ")}. ${counted(records, "record")} were copied and ${counted(positions, "position")} moved exactly; all that was made is removed.`;
}

function started({ migration, runs }: Schemas["StartReport"]): string {
  const done = runs.filter((run) => run.state === "done").length;
  const open = runs.length - done;
  return `${counted(done, "wave")} of migration ${migration} ${either(done, "is", "are")} copied${open ? `, ${whole(open)} still being started` : ""}.`;
}

/** Whose switches: of one wave, or of all of them. */
function held({ request }: Schemas["Work"]): string {
  const wave = request["wave"];
  return `Switches of ${wave == null ? "all waves" : `wave ${String(wave)}`} of migration ${String(request["migration"])}`;
}
