import { type Completion, type CompletionContext, type CompletionResult, type CompletionSource } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import { names } from "./dialect";
import { declaredIn, plain, statementAt, usedIn, type ScriptColumn } from "./names";

export interface CatalogName {
  /** As scripts write it. */
  name: string;
  kind: string;
  description: string;
}

/** What the catalog tells whoever writes; it says nothing of what they may not see. */
export interface CatalogNames {
  entries: () => Promise<readonly CatalogName[]>;
  columns: (name: string) => Promise<readonly ScriptColumn[]>;
}

const KINDS: Readonly<Record<string, string>> = { table: "class", view: "interface", function: "function", database: "namespace" };
const WORDS: readonly Completion[] = [
  ...names.keywords.map((word) => ({ label: word.toUpperCase(), type: "keyword", boost: -1 })),
  ...names.types.map((word) => ({ label: word.toUpperCase(), type: "type", boost: -2 })),
  ...names.functions.map((word) => ({ label: word, type: "function", apply: `${word}(` })),
];
const SILENT = /String|Comment/;

/** Completes words of SQL, names that the script declares, names of the catalog, and columns of what the statement uses. */
export const completionOf =
  (catalog: CatalogNames): CompletionSource =>
  async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w`.]+/);
    if (word === null && !context.explicit) return null;
    if (SILENT.test(syntaxTree(context.state).resolveInner(context.pos, -1).name)) return null;
    const text = word?.text ?? "";
    const from = word?.from ?? context.pos;
    const script = context.state.doc.toString();
    const entries = await catalog.entries().catch(() => []);
    const dot = text.lastIndexOf(".");
    if (dot >= 0) {
      const before = plain(text.slice(0, dot));
      const columns = await columnsOf(before, script, context.pos, catalog, entries);
      return { from: from + dot + 1, options: [...columns, ...below(before, entries)], validFor: /^\w*$/ };
    }
    const declared = declaredIn(script);
    const used = usedIn(statementAt(script, context.pos));
    const columns = await Promise.all(used.map(({ alias }) => columnsOf(alias, script, context.pos, catalog, entries)));
    return {
      from,
      options: unique([
        ...columns.flat().map((one) => ({ ...one, boost: 3 })),
        ...declared.map(({ name, kind }) => ({ label: name, type: KINDS[kind] ?? "variable", detail: `${kind} of this script`, boost: 2 })),
        ...entries.map((one) => ({ ...completion(one, one.name), boost: 1 })),
        ...WORDS,
      ]),
      validFor: /^\w*$/,
    };
  };

const completion = ({ kind, description }: CatalogName, label: string): Completion => ({
  label,
  type: KINDS[kind] ?? "variable",
  detail: kind,
  ...(description ? { info: description } : {}),
});

/** Names of the catalog below a database. */
const below = (before: string, entries: readonly CatalogName[]): Completion[] =>
  entries.filter((one) => one.name.startsWith(`${before}.`)).map((one) => completion(one, one.name.slice(before.length + 1)));

/** Columns of what a statement calls so, or of a table of that name. */
async function columnsOf(
  called: string,
  script: string,
  at: number,
  catalog: CatalogNames,
  entries: readonly CatalogName[],
): Promise<Completion[]> {
  const name = usedIn(statementAt(script, at)).find((one) => one.alias === called || one.name === called)?.name ?? called;
  const own = declaredIn(script).find((one) => one.name === name);
  const found = own?.columns ?? (entries.some((one) => one.name === name) ? await catalog.columns(name).catch(() => []) : []);
  return found.map((one) => ({ label: one.name, type: "property", detail: one.type }));
}

function unique(options: readonly Completion[]): Completion[] {
  const seen = new Set<string>();
  return options.filter(({ label }) => !seen.has(label) && seen.add(label));
}
