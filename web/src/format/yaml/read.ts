import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type ParsedNode, type YAMLError, type YAMLMap } from "yaml";
import { scalarOf } from "./scalars";

const DEEPEST = 50;
const TOO_DEEP = "it is nested too deep";
/** What the service's own reader (YAML 1.1) takes for the end of a line, and this one does not. */
const ODD = /[\x85\u2028\u2029]|\r(?!\n)/;

/**
 * The value of a YAML or JSON text.  What they have beyond fields, lists, texts, whole numbers, yes and no is refused
 * with its line, and never read as something else; throws SyntaxError.
 */
export function readYaml(text: string): unknown {
  const odd = ODD.exec(text);
  if (odd !== null) {
    const line = text.slice(0, odd.index).split("\n").length;
    throw new SyntaxError(`line ${line}: a sign that some take for the end of a line: write it as \\u2028 in quotes`);
  }
  return new Reader(text).value();
}

/** The library says what stands where; which value that is, is said here, as the service would read it. */
class Reader {
  private readonly lines = new LineCounter();

  constructor(private readonly text: string) {}

  value(): unknown {
    // Of the failsafe schema every scalar is a text.
    const found = parseDocument(this.text, { schema: "failsafe", uniqueKeys: false, prettyErrors: false, lineCounter: this.lines, logLevel: "error" });
    const [wrong] = found.errors;
    if (wrong !== undefined) throw this.fault(wrong.pos[0], wordsOf(wrong));
    const { tags, yaml } = found.directives ?? { tags: {}, yaml: {} };
    if (yaml.explicit || Object.keys(tags).length > 1) throw this.fault(0, notRead("a directive (%)"));
    return this.of(found.contents, 1);
  }

  private of(node: ParsedNode | null, depth: number): unknown {
    if (node === null) return null;
    const at = node.range[0];
    if (isAlias(node)) throw this.fault(at, notRead("an alias (*)"));
    if (node.anchor) throw this.fault(at, notRead("an anchor (&)"));
    if (node.tag) throw this.fault(at, notRead("a tag (!)"));
    if (depth > DEEPEST) throw this.fault(at, TOO_DEEP);
    if (isMap(node)) return this.fields(node, depth);
    if (isSeq(node)) return (node.items as ParsedNode[]).map((one) => this.of(one, depth + 1));
    if (node.type?.startsWith("BLOCK") && depth === 1) throw this.fault(at, "a text alone is not read here");
    if (node.type?.startsWith("BLOCK")) return this.block(String(node.value), node.range[1]);
    if (node.type !== "PLAIN") return node.value;
    try {
      return scalarOf(String(node.value));
    } catch (error) {
      throw this.fault(at, (error as Error).message);
    }
  }

  /** Where the file ends in a text's last line, without its end, the service's reader adds none. */
  private block(text: string, end: number): string {
    const isCut = end === this.text.length && !this.text.endsWith("\n");
    return isCut && text.endsWith("\n") ? text.slice(0, -1) : text;
  }

  private fields(node: YAMLMap.Parsed, depth: number): unknown {
    const found = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const at = key?.range[0] ?? node.range[0];
      const plain = isScalar(key) && key.type === "PLAIN" ? key.value : null;
      if (plain === "<<") throw this.fault(at, "a merge (<<) is not read here: write the fields out");
      const name = plain === "?" ? null : this.of(key, depth);
      if (typeof name !== "string") throw this.fault(at, `${named(key)} is no name as it stands here: put it in quotes`);
      if (found.has(name)) throw this.fault(at, `${name} is given twice`);
      found.set(name, this.of(value, depth + 1));
    }
    return Object.fromEntries(found);
  }

  private fault(at: number, what: string): SyntaxError {
    return new SyntaxError(`line ${Math.max(1, this.lines.linePos(at).line)}: ${what}`);
  }
}

const notRead = (what: string): string => `${what} is not read here: write the value out, a text in quotes`;

const named = (key: ParsedNode | null): string => (isScalar(key) && key.value !== "" ? String(key.value) : "this");

/** The library's reasons; in other words where its own do not say what to do. */
function wordsOf({ code, message }: YAMLError): string {
  const end = /end with a ([\]}])$/.exec(message)?.[1];
  if (end !== undefined) return `the ${end} at its end is missing`;
  switch (code) {
    case "BAD_INDENT":
      return "it is indented otherwise than what it belongs to";
    case "BLOCK_AS_IMPLICIT_KEY":
      return "a text with a ':' before a space must be in quotes";
    case "MULTIPLE_DOCS":
      return "a second document begins";
    case "RESOURCE_EXHAUSTION":
      return TOO_DEEP;
    case "TAB_AS_INDENT":
      return "a tab cannot indent: use spaces";
    default:
      return message.charAt(0).toLowerCase() + message.slice(1);
  }
}
