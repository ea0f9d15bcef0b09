import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { explainQuery, routesQuery, type RouteQuestion } from "../../api/queries";
import { command } from "../../format/command";
import { CommandLine } from "../../parts/CopyButton";
import { Fetched } from "../../parts/Fetched";
import { Wrong } from "../../parts/Wrong";
import { initialOf } from "../../plans/FormFields";
import type { FieldSpec } from "../../plans/specs";
import { tableOf } from "../../routes/table";
import { useAsk } from "../checkpoints/useAsk";
import { Explained } from "./Explained";
import { explainSearch, parametersOf, questionOf } from "./question";

/** Where such a client would be led, and why; the page's address has the question. */
export function Explain() {
  const [search, setSearch] = useSearchParams();
  const [wrong, setWrong] = useState<string | null>(null);
  const asked = questionOf(search);
  const known = tableOf(useQuery(routesQuery).data?.table).codes.map((code) => code.name);
  const fields = fieldsOf(asked, known);
  const { form, fill } = useAsk(fields, "Explain", (body) => {
    const { parameters, wrong: unclear } = parametersOf((body["parameters"] as string[] | undefined) ?? []);
    setWrong(unclear);
    if (unclear === null) setSearch(explainSearch({ ...EMPTY, ...body, parameters } as RouteQuestion));
  });
  const address = search.toString();
  const [shown, setShown] = useState(address);
  // Back and forward lead to another question: the form has that one then.
  if (address !== shown) {
    setShown(address);
    setWrong(null);
    fill(initialOf(fields));
  }
  return (
    <div className="stack-wide">
      <section className="panel" aria-label="Explain a route">
        <h2>Where would such a client be led, and why?</h2>
        <p className="dim">Nothing is registered, and nothing is changed.</p>
        {form}
        <Wrong what={wrong} />
      </section>
      {asked.code === "" ? null : <Answer asked={asked} />}
    </div>
  );
}

function Answer({ asked }: { asked: RouteQuestion }) {
  const query = useQuery(explainQuery(asked));
  const parameters = Object.entries(asked.parameters).map(([name, value]) => `${name}=${value}`);
  return (
    <>
      <Fetched query={query} what="the way">
        {(found) => <Explained found={found} />}
      </Fetched>
      <CommandLine
        text={command(
          ["route", "explain", asked.code],
          [
            ["--role", asked.role],
            ["--topic", asked.topics],
            ["--group", asked.group],
            ["--client-id", asked.client_id],
            ["--param", parameters],
          ],
        )}
      />
    </>
  );
}

const EMPTY: RouteQuestion = { code: "", role: "consumer", topics: [], group: "", client_id: "", parameters: {} };

const fieldsOf = (asked: RouteQuestion, codes: readonly string[]): readonly FieldSpec[] => [
  {
    name: "code",
    label: "Code",
    kind: "text",
    required: true,
    initial: asked.code,
    hint: codes.length ? `The cluster code that it names: ${codes.slice(0, 5).join(", ")}${codes.length > 5 ? ", …" : ""}` : "The cluster code that it names.",
  },
  {
    name: "role",
    label: "Role",
    kind: "choice",
    initial: asked.role,
    choices: [
      ["consumer", "consumer"],
      ["producer", "producer"],
    ],
  },
  { name: "group", label: "Group", kind: "text", initial: asked.group, hint: "Its group.id; a producer has none." },
  { name: "client_id", label: "Client id", kind: "text", initial: asked.client_id, hint: "Its client.id." },
  {
    name: "topics",
    label: "Topics",
    kind: "lines",
    initial: asked.topics.join("\n"),
    hint: "What it reads or writes, one a line; one that begins with ^ is a regular expression.",
  },
  {
    name: "parameters",
    label: "Parameters",
    kind: "lines",
    initial: Object.entries(asked.parameters)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    hint: "Its own words, NAME=VALUE, one a line, such as job_id=1234.",
  },
];
