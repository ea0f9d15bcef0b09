import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { client, told, type Schemas } from "../../api/client";
import { command } from "../../format/command";
import { partitionOf } from "../../format/partitions";
import { whole } from "../../format/numbers";
import { Badge } from "../../parts/Badge";
import { CommandLine, CopyButton } from "../../parts/CopyButton";
import { Field } from "../../parts/Field";
import { ProblemNotice } from "../../parts/ProblemNotice";

interface Props {
  target: string;
  link: string;
  /** The lane that is asked about; without it a field asks for the partition. */
  lane?: { source: string; target: string };
}

/** Where a record is on the other side: exact, or refused with the reason. */
export function Translate({ target, link, lane }: Props) {
  const [partition, setPartition] = useState("");
  const [offset, setOffset] = useState("");
  const [reverse, setReverse] = useState(false);
  const [records, setRecords] = useState(true);
  const asked = (lane ? (reverse ? lane.target : lane.source) : partition).trim();
  const found = partitionOf(asked);
  const ask = useMutation({
    mutationFn: (questions: Schemas["Questions"]) =>
      told(
        client.POST("/api/v1/clusters/{target}/links/{link}/translate", {
          params: { path: { target, link } },
          body: questions,
        }),
      ),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (found !== null && large === null) {
      ask.mutate({ questions: [{ ...found, offset: Number(offset) }], reverse, records });
    }
  };
  const large =
    Number(offset) > Number.MAX_SAFE_INTEGER ? "larger than a browser holds exactly: ask by anabranch offsets translate" : null;
  const wrong = asked !== "" && found === null ? "not TOPIC-PARTITION, such as orders-3" : null;
  return (
    <div className="stack">
      <form className="stack" onSubmit={submit}>
        <div className="segments" role="radiogroup" aria-label="Direction">
          {([false, true] as const).map((one) => (
            <label key={String(one)}>
              <input
                type="radio"
                className="hidden"
                name="direction"
                checked={reverse === one}
                onChange={() => {
                  setReverse(one);
                  ask.reset();
                }}
              />
              {one ? "target to source" : "source to target"}
            </label>
          ))}
        </div>
        {lane ? null : (
          <Field label={reverse ? "Target partition" : "Source partition"} wrong={wrong} hint="TOPIC-PARTITION, such as orders-3">
            {(attributes) => (
              <input
                {...attributes}
                className="input"
                required
                spellCheck={false}
                autoComplete="off"
                value={partition}
                onChange={(event) => setPartition(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label={lane ? `Offset in ${asked}` : "Offset"} wrong={large}>
          {(attributes) => (
            <input
              {...attributes}
              className="input"
              type="number"
              min={0}
              required
              value={offset}
              onChange={(event) => setOffset(event.target.value)}
            />
          )}
        </Field>
        <label className="check">
          <input type="checkbox" checked={records} onChange={(event) => setRecords(event.target.checked)} />
          <span>
            The very record at this offset
            <span className="dim small"> – else the offset is the next record that a reader reads</span>
          </span>
        </label>
        <div>
          <button type="submit" className="button main">
            Translate
          </button>
        </div>
      </form>
      {ask.isError ? <ProblemNotice error={ask.error} /> : null}
      {ask.data?.answers.map((answer) => <Answer key={answer.offset} answer={answer} />)}
      {ask.data && ask.variables ? <CommandLine text={commandOf(target, link, ask.variables)} /> : null}
    </div>
  );
}

/** Of what was answered: the fields may hold something else by now. */
const commandOf = (target: string, link: string, { questions, reverse, records }: Schemas["Questions"]): string =>
  command(
    ["offsets", "translate", link, ...questions.map((one) => `${one.topic}-${one.partition}:${one.offset}`)],
    [
      ["--target", target],
      ["--reverse", reverse],
      ["--records", records],
    ],
  );

function Answer({ answer }: { answer: Schemas["Answered"] }) {
  const exact = answer.kind === "exact";
  return (
    <div className={`notice ${exact ? "ok" : "warn"}`} role="status">
      <div className="row">
        <Badge tone={exact ? "ok" : "warn"} shape={exact ? "check" : "triangle"}>
          {answer.kind}
        </Badge>
        <span>
          {answer.partition} offset {whole(answer.offset)}
        </span>
      </div>
      {exact && answer.answer !== null ? (
        <p className="row">
          <strong>
            → {answer.to} offset {whole(answer.answer)}
          </strong>
          <CopyButton text={String(answer.answer)} label="Copy the offset" />
        </p>
      ) : null}
      {answer.why ? <p>{answer.why}</p> : null}
      {answer.below ? (
        <p className="dim">
          Nearest below: {whole(answer.below.asked)} → {whole(answer.below.answer)}
        </p>
      ) : null}
      {answer.above ? (
        <p className="dim">
          Nearest above: {whole(answer.above.asked)} → {whole(answer.above.answer)}
        </p>
      ) : null}
    </div>
  );
}
