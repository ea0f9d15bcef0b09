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
import type { FieldSpec } from "../../plans/specs";
import { useAsk } from "../checkpoints/useAsk";

interface Props {
  target: string;
  link: string;
}

type Asked = Readonly<Record<string, unknown>>;

const REVERSE: FieldSpec = {
  name: "reverse",
  label: "Direction",
  kind: "choice",
  initial: "",
  choices: [
    ["", "source to target"],
    ["yes", "target to source"],
  ],
};

const MANY: readonly FieldSpec[] = [
  {
    name: "offsets",
    label: "Offsets",
    kind: "lines",
    required: true,
    hint: "TOPIC-PARTITION:OFFSET, one a line, 10,000 at most.",
  },
  { ...REVERSE },
  { name: "records", label: "The very records at these offsets", kind: "check", hint: "else each is the next record that a reader reads" },
];

/** Many offsets in one answer, which can be saved as an offsets file. */
export function ManyOffsets({ target, link }: Props) {
  const [wrong, setWrong] = useState<string | null>(null);
  const [asked, setAsked] = useState<Asked>({});
  const ask = useMutation({
    mutationFn: (body: Schemas["Questions"]) =>
      told(client.POST("/api/v1/clusters/{target}/links/{link}/translate", { params: { path: { target, link } }, body })),
  });
  const { form } = useAsk(MANY, "Look them up", (body) => {
    const { questions, wrong: unclear } = questionsOf(body["offsets"] as string[]);
    setWrong(unclear);
    if (unclear !== null) return;
    setAsked(body);
    ask.mutate({ questions, reverse: body["reverse"] === "yes", records: body["records"] === true });
  });
  return (
    <section className="panel" aria-label="Many offsets">
      <h2>Many offsets at once</h2>
      {form}
      <Wrong what={wrong} />
      {ask.isPending ? <Waiting what="the maps" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data && wrong === null ? (
        <>
          <Translation found={ask.data} name={`${link}-offsets.json`} />
          <CommandLine
            text={command(
              ["offsets", "translate", link, ...(asked["offsets"] as string[])],
              [
                ["--reverse", asked["reverse"] === "yes"],
                ["--records", asked["records"] === true],
                ["--target", target],
              ],
            )}
          />
        </>
      ) : null}
    </section>
  );
}

const GROUP: readonly FieldSpec[] = [
  { name: "group", label: "Group", kind: "text", required: true, hint: "All that it has committed in what the link copies." },
  { ...REVERSE },
];

/** What a group has committed, on the other side. */
export function GroupOffsets({ target, link }: Props) {
  const [asked, setAsked] = useState<Asked>({});
  const ask = useMutation({
    mutationFn: ({ group, reverse }: { group: string; reverse: boolean }) =>
      told(
        client.GET("/api/v1/clusters/{target}/links/{link}/translate/group", {
          params: { path: { target, link }, query: { group, reverse } },
        }),
      ),
  });
  const { form } = useAsk(GROUP, "Look its commits up", (body) => {
    setAsked(body);
    ask.mutate({ group: String(body["group"]), reverse: body["reverse"] === "yes" });
  });
  return (
    <section className="panel" aria-label="A group's offsets">
      <h2>What a group has committed</h2>
      {form}
      {ask.isPending ? <Waiting what="the group and the maps" /> : null}
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data ? (
        <>
          <Translation found={ask.data as Schemas["Translation"]} name={`${String(asked["group"])}-offsets.json`} />
          <CommandLine
            text={command(
              ["offsets", "translate", link],
              [
                ["--group", String(asked["group"])],
                ["--reverse", asked["reverse"] === "yes"],
                ["--target", target],
              ],
            )}
          />
        </>
      ) : null}
    </section>
  );
}
