/** Names that a script of SQL has itself: for completion, so a script that is half written is read as far as it goes. */
export interface ScriptColumn {
  name: string;
  type: string;
}

export interface Declared {
  kind: "table" | "view" | "function";
  name: string;
  columns: readonly ScriptColumn[];
}

export interface Used {
  name: string;
  /** How the statement calls it; its own last part where it has no other name. */
  alias: string;
}

const NAME = "[\\w-]+|`[^`]*`";
const DECLARED = new RegExp(
  `\\bcreate\\s+(?:or\\s+replace\\s+)?(?:temporary\\s+)?(table|view|function)\\s+(?:if\\s+not\\s+exists\\s+)?((?:${NAME})(?:\\.(?:${NAME}))*)`,
  "gi",
);
const USED = new RegExp(`\\b(?:from|join|into)\\s+(?:stream\\s+)?((?:${NAME})(?:\\.(?:${NAME}))*)(?=([^;,)]{0,160}))`, "gi");
const DELAY = /^\s+watermark\s+\S+\s+delay\s+of\s+interval\s+\S+\s+\w+/i;
const ALIAS = /^\s+(?:as\s+)?([a-z_]\w*)/i;
const NO_ALIAS = /^(?:where|group|having|order|on|using|join|inner|left|right|full|cross|semi|anti|watermark|union|select|limit|values|by|window|lateral|with|set|cluster|distribute|sort|qualify|except|intersect)$/i;

export const plain = (name: string): string => name.replaceAll("`", "").toLowerCase();

/** Tables, views and functions that a script declares. */
export function declaredIn(script: string): Declared[] {
  const text = withoutComments(script);
  return [...text.matchAll(DECLARED)].map((found) => {
    const kind = (found[1] ?? "table").toLowerCase() as Declared["kind"];
    const rest = text.slice((found.index ?? 0) + found[0].length);
    return { kind, name: plain(found[2] ?? ""), columns: kind === "table" ? columnsOf(rest) : [] };
  });
}

/** What a statement reads and writes. */
export function usedIn(statement: string): Used[] {
  return [...withoutComments(statement).matchAll(USED)].map((found) => {
    const name = plain(found[1] ?? "");
    const said = (found[2] ?? "").replace(DELAY, "").match(ALIAS)?.[1];
    return { name, alias: said !== undefined && !NO_ALIAS.test(said) ? said.toLowerCase() : (name.split(".").at(-1) ?? name) };
  });
}

/** The statement that a position is in. */
export function statementAt(script: string, at: number): string {
  const text = withoutComments(script);
  const from = text.lastIndexOf(";", at - 1) + 1;
  const to = text.indexOf(";", at);
  return text.slice(from, to < 0 ? undefined : to);
}

/** Comments and texts as spaces, so that every place stays where it is. */
const withoutComments = (script: string): string =>
  script.replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^'\\]|\\.)*'?/g, (found) => found.replace(/[^\n]/g, " "));

/** Columns in the brackets that a text begins with. */
function columnsOf(text: string): ScriptColumn[] {
  const begin = text.search(/\S/);
  if (begin < 0 || text[begin] !== "(") return [];
  const parts: string[] = [""];
  let depth = 0;
  for (const char of text.slice(begin + 1)) {
    if (char === ")" && depth === 0) break;
    if ("(<".includes(char)) depth += 1;
    if (")>".includes(char)) depth -= 1;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts
    .map((part) => part.trim().match(/^(`[^`]+`|\w+)\s+([\s\S]+)$/))
    .filter((found) => found !== null)
    .map((found) => ({ name: (found[1] ?? "").replaceAll("`", ""), type: (found[2] ?? "").replace(/\s+/g, " ").toLowerCase() }));
}
