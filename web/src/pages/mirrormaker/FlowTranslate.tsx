import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client, told, type Schemas } from "../../api/client";
import { command } from "../../format/command";
import { questionsOf } from "../../format/offsets";
import { CommandLine } from "../../parts/CopyButton";
import { ProblemNotice } from "../../parts/ProblemNotice";
import { Translation } from "../../parts/Translation";
import { Waiting } from "../../parts/Waiting";
import { Wrong } from "../../parts/Wrong";
import { useAsk } from "../checkpoints/useAsk";
import { flowOptions, useFlowFields } from "./flowFields";

/** Where readers of MirrorMaker 2's copy go on. */
export function FlowTranslate() {
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Readonly<Record<string, unknown>>>({});
  const ask = useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      told(client.POST("/api/v1/mirrormaker/translate", { body: body as Schemas["FlowQuestions"] })),
  });
  const fields = useFlowFields();
  const { form } = useAsk(
    [
      ...fields,
      {
        name: "offsets",
        label: "Offsets",
        kind: "lines",
        required: true,
        hint: "TOPIC-PARTITION:OFFSET of the source, the next record to read, one a line.",
      },
    ],
    "Translate",
    (body) => {
      const { offsets, ...flow } = body;
      const { questions, wrong: unclear } = questionsOf(offsets as string[]);
      setWrong(unclear);
      if (unclear !== null) return;
      setAsked(body);
      ask.mutate({ ...flow, questions });
    },
  );
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Translate offsets">
        <h2>Translate offsets to its copy</h2>
        <p className="dim">
          Exact where the records tell; an approximate answer skips no record, and says how much is read again at most.
        </p>
        {form}
        <Wrong what={wrong} />
      </section>
      {ask.isPending ? <Waiting what="both clusters" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data && wrong === null ? (
        <section className="panel" aria-label="Answers">
          <Translation found={ask.data as Schemas["Translation"]} name="mirrormaker-offsets.json" />
          <CommandLine text={command(["mm2", "translate", ...(asked["offsets"] as string[])], flowOptions(asked))} />
        </section>
      ) : null}
    </div>
  );
}
