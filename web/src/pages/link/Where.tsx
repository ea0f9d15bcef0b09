import { CommandLine } from "../../parts/CopyButton";
import { command } from "../../format/command";
import { GroupOffsets, ManyOffsets } from "./Many";
import { linkApi } from "./path";
import { Translate } from "./Translate";

/** Where is this record?  Both ways, for any partition of the link. */
export const Where = ({ target, link }: { target: string; link: string }) => (
  <div className="stack-wide">
    <div className="columns">
      <section className="panel" aria-label="Where is this record?">
        <h2>Where is this record?</h2>
        <Translate target={target} link={link} />
      </section>
      <section className="panel" aria-label="What an answer means">
        <h2>What an answer means</h2>
        <p>
          <strong>exact</strong>: this is the offset. Every other answer is a refusal with its reason; no offset is ever
          guessed.
        </p>
        <p>
          <strong>before</strong> anything that was copied; <strong>after</strong> all that was copied by now;{" "}
          <strong>unmapped</strong>: a record that has no counterpart; <strong>unknown</strong>: no lane copies the
          partition, or its map is in doubt.
        </p>
      </section>
    </div>
    <ManyOffsets target={target} link={link} />
    <GroupOffsets target={target} link={link} />
    <section className="panel" aria-label="All maps">
      <h2>All maps</h2>
      <p>Every map of the link as a file, to translate without its clusters; refused where one of them is in doubt.</p>
      <div className="row">
        <a href={linkApi(target, link, "maps")} download>
          Save the maps (JSON)
        </a>
        <a href={linkApi(target, link, "maps.csv")} download>
          Save their mapped ranges (CSV)
        </a>
      </div>
      <CommandLine text={command(["offsets", "export", link], [["--target", target], ["--out", `${link}.json`]])} />
    </section>
  </div>
);
