import type { Schemas } from "../api/client";
import { counted, whole } from "../format/numbers";
import { offsetsFile } from "../format/offsets";
import { Badge, type Tone } from "./Badge";
import { Download } from "./Download";
import type { ShapeName } from "./Shape";
import { Table } from "./Table";

type Answer = Schemas["Answered"];

const look = (kind: Answer["kind"]): readonly [Tone, ShapeName] =>
  kind === "exact" ? ["ok", "check"] : kind === "approximate" ? ["warn", "half"] : ["warn", "triangle"];

export function KindBadge({ kind }: { kind: Answer["kind"] }) {
  const [tone, shape] = look(kind);
  return (
    <Badge tone={tone} shape={shape}>
      {kind}
    </Badge>
  );
}

/** Many answers at once, those that are not exact with their reasons; all that are exact can be saved. */
export function Translation({ found, name }: { found: Schemas["Translation"]; name: string }) {
  const exact = found.answers.filter((answer) => answer.kind === "exact").length;
  const file = offsetsFile(found);
  return (
    <div className="stack" role="status">
      <div className="row">
        <p className="strong">
          {whole(exact)} of {counted(found.answers.length, "offset")} {found.answers.length === 1 ? "has" : "have"} an exact answer on {found.cluster}
        </p>
        <span className="end">
          {file === null || found.answers.length === 0 ? null : <Download name={name} text={file} kind="application/json" little />}
        </span>
      </div>
      {found.answers.length === 0 ? (
        <p className="dim">Nothing was committed there that the link copies.</p>
      ) : (
        <div className="flush">
          <Table
            caption="Answers"
            rows={found.answers}
            rowKey={(answer, index) => `${answer.partition} ${answer.offset} ${index}`}
            columns={[
              { key: "at", label: "partition", head: "Partition", cell: (answer) => answer.partition },
              { key: "offset", label: "offset", head: "Offset", number: true, cell: (answer) => whole(answer.offset) },
              { key: "kind", label: "answer", head: "Answer", cell: (answer) => <KindBadge kind={answer.kind} /> },
              { key: "to", label: "there", head: "There", cell: (answer) => answer.to ?? <span className="dim">none</span> },
              {
                key: "answer",
                label: "offset there",
                head: "Offset there",
                number: true,
                cell: (answer) => (answer.answer === null ? "" : <strong>{whole(answer.answer)}</strong>),
              },
              { key: "why", label: "why", head: "Why", cell: (answer) => <span className="small anywhere">{whyOf(answer)}</span> },
            ]}
          />
        </div>
      )}
    </div>
  );
}

function whyOf(answer: Answer): string {
  if (answer.kind !== "approximate") return answer.why;
  const again =
    answer.most_again === null ? "how much is read again is not known" : `at most ${counted(answer.most_again, "offset")} again, none is skipped`;
  return answer.why ? `${answer.why}; ${again}` : again;
}
