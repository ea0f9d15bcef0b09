import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client, told, type Schemas } from "../../api/client";
import { command } from "../../format/command";
import { counted, whole } from "../../format/numbers";
import { Badge } from "../../parts/Badge";
import { CommandLine } from "../../parts/CopyButton";
import { Facts } from "../../parts/Facts";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { Wrong } from "../../parts/Wrong";
import { offsetText } from "./offsetText";
import { offsetFiles, rewriteOptions, spelledOut, withoutUsual } from "./rewriteBody";
import { useRewriteFields } from "./rewriteFields";
import { useAsk } from "./useAsk";

type Found = Schemas["VerificationReport"];
type Body = Record<string, unknown>;

/** Reads a rewritten checkpoint again, and proves it position by position; nothing is written. */
export function Prove({ roots }: { roots: readonly string[] }) {
  const fields = useRewriteFields(roots);
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Body>({});
  const ask = useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      told(client.POST("/api/v1/checkpoints/verify", { body: body as Schemas["ProofRequest"] })),
  });
  const { form } = useAsk(
    [...fields, { name: "was", label: "What it was made from", kind: "text", hint: "A path, for one that was written to a new one; empty for its own backup." }],
    "Prove it",
    (body) => {
      const unclear = spelledOut(body);
      setWrong(unclear);
      if (unclear !== null) return;
      setAsked(withoutUsual(body));
      ask.mutate(body);
    },
  );
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Prove a rewrite">
        <h2>Prove a rewrite</h2>
        <p className="dim">
          Each source must start where the map says, inside of the target&#8217;s log, and nothing else may differ. Name the route
          that it was rewritten by.
        </p>
        {form}
        <Wrong what={wrong} />
      </section>
      {ask.isPending ? <Waiting what="the checkpoint and both clusters" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data && wrong === null ? <Shown found={ask.data as Found} asked={asked} /> : null}
    </div>
  );
}

function Shown({ found, asked }: { found: Found; asked: Body }) {
  const wrong = found.proofs.filter((one) => one.problem).length + found.problems.length;
  return (
    <section className="panel" aria-label="Proof">
      <div className="row">
        <h2 className="anywhere">{found.path}</h2>
        {wrong ? (
          <Badge tone="bad" shape="cross">
            {counted(wrong, "problem")}
          </Badge>
        ) : (
          <Badge tone="ok" shape="check">
            as it must be
          </Badge>
        )}
      </div>
      {wrong ? <p className="old">Do not start the job from it: a rewrite in place can be taken back.</p> : null}
      <Facts
        facts={[
          ["format", found.format],
          ["number", whole(found.number)],
          ["compared with", found.was ?? "nothing: there is no backup"],
          ["files that differ", found.changed.length ? found.changed.join(", ") : "none"],
        ]}
      />
      {found.problems.map((problem) => (
        <p key={problem} className="old">
          {problem}
        </p>
      ))}
      <div className="flush">
        <Table
          caption="Positions"
          rows={found.proofs}
          rowKey={(proof, index) => `${proof.new.source} ${proof.new.partition} ${proof.new.role} ${index}`}
          columns={[
            { key: "source", label: "source", head: "Source", cell: (proof) => found.names[proof.new.source] ?? proof.new.source },
            { key: "role", label: "role", head: "Role", cell: (proof) => proof.new.role },
            { key: "old", label: "was", head: "Was", cell: (proof) => (proof.old === null ? <span className="dim">none</span> : `${proof.old.partition}: ${offsetText(proof.old.offset)}`) },
            { key: "new", label: "is", head: "Is", cell: (proof) => `${proof.new.partition}: ${offsetText(proof.new.offset)}` },
            { key: "log", label: "the log there", head: "The log there", cell: (proof) => (proof.start === null || proof.end === null ? "" : `${whole(proof.start)} to ${whole(proof.end)}`) },
            {
              key: "verdict",
              label: "proof",
              head: "Proof",
              cell: (proof) =>
                proof.problem ? (
                  <>
                    <Badge tone="bad" shape="cross">
                      wrong
                    </Badge>{" "}
                    {proof.problem}
                  </>
                ) : (
                  <Badge tone="ok" shape="check">
                    right
                  </Badge>
                ),
            },
            { key: "note", label: "note", head: "Note", cell: (proof) => <span className="small">{proof.note}</span> },
          ]}
        />
      </div>
      {found.notes.map((note) => (
        <p key={note} className="dim small">
          {note}
        </p>
      ))}
      <CommandLine
        text={command(["checkpoint", "verify", String(asked["path"])], [...rewriteOptions(asked), ["--was", asked["was"] as string | undefined]])}
        files={offsetFiles(asked)}
      />
    </section>
  );
}
