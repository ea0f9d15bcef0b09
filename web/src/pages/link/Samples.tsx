import { Link, useSearchParams } from "wouter";
import { counted, whole } from "../../format/numbers";
import { Badge } from "../../parts/Badge";
import { CopyButton } from "../../parts/CopyButton";
import { Table } from "../../parts/Table";
import { lanePath } from "./path";
import type { ReportSample } from "./verifyReport";

interface Props {
  target: string;
  link: string;
  samples: readonly ReportSample[];
}

/** The records that differ, as far as the report keeps them; the address names the one that is looked at. */
export function Samples({ target, link, samples }: Props) {
  const [search, setSearch] = useSearchParams();
  const at = Number(search.get("sample") ?? "-1");
  const chosen = Number.isInteger(at) ? samples[at] : undefined;
  if (samples.length === 0) return null;
  return (
    <section className="panel" aria-label="Samples">
      <h2>{counted(samples.length, "sample")}</h2>
      <div className="flush">
        <Table
          caption="Samples"
          rows={samples.map((sample, index) => ({ sample, index }))}
          rowKey={({ index }) => String(index)}
          columns={[
            {
              key: "kind",
              label: "what",
              head: "What",
              cell: ({ sample }) => (
                <Badge tone="bad" shape="cross">
                  {sample.kind.replaceAll("_", " ")}
                </Badge>
              ),
            },
            { key: "lane", label: "lane", head: "Lane", cell: ({ sample }) => sample.lane },
            {
              key: "source",
              label: "source offset",
              head: "Source offset",
              number: true,
              cell: ({ sample }) => (sample.source_offset === null ? "none" : whole(sample.source_offset)),
            },
            {
              key: "target",
              label: "target offset",
              head: "Target offset",
              number: true,
              cell: ({ sample }) => (sample.target_offset === null ? "none" : whole(sample.target_offset)),
            },
            { key: "fields", label: "differs in", head: "Differs in", cell: ({ sample }) => sample.fields.join(", ") },
            {
              key: "look",
              label: "look",
              head: <span className="hidden">Look</span>,
              cell: ({ index }) => (
                <button
                  type="button"
                  className="button little"
                  aria-pressed={index === at}
                  onClick={() => setSearch(index === at ? {} : { sample: String(index) }, { replace: true })}
                >
                  {index === at ? "Hide" : "Look"}
                  <span className="hidden"> at sample {index + 1}</span>
                </button>
              ),
            },
          ]}
        />
      </div>
      {chosen === undefined ? null : <Sample target={target} link={link} sample={chosen} />}
    </section>
  );
}

const Sample = ({ target, link, sample }: Omit<Props, "samples"> & { sample: ReportSample }) => (
  <div className="stack" role="status">
    <h3>
      {sample.kind.replaceAll("_", " ")}: {sample.lane}
      {sample.source_offset === null ? "" : ` at ${whole(sample.source_offset)}`}
    </h3>
    {sample.contents === null ? (
      <p className="dim">The record itself was not kept with this sample.</p>
    ) : (
      <div className="sides">
        {Object.entries(sample.contents).map(([side, text]) => (
          <div key={side} className="stack">
            <div className="row">
              <strong>{side}</strong>
              <CopyButton text={text} />
            </div>
            <pre>{text}</pre>
          </div>
        ))}
      </div>
    )}
    <p>
      <Link href={lanePath(target, link, sample.lane)}>The lane {sample.lane}</Link>
    </p>
  </div>
);
