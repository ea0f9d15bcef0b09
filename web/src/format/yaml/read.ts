import { Cursor } from "./cursor";
import { Flow } from "./flow";

const ITEM = /-(?=[ \t\n]|$)/y;
const QUOTED_KEY = /(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')[ \t]*:(?=[ \t\n]|$)/y;
const PLAIN_KEY =
  /(?:[^ \t\n"'[\]{},#&*!|>%@`:?-]|[:?-](?=[^ \t\n]))(?:[^:#\n]|:(?=[^ \t\n])|(?<=[^ \t])#)*:(?=[ \t\n]|$)/y;
const PLAIN_LINE = /[^ \t\n]*(?:[ \t]+(?!#)[^ \t\n]+)*/y;
const MARK = /(?:---|\.\.\.)(?=[ \t\n]|$)/y;

/**
 * The value of a YAML or JSON text.  What they have beyond fields, lists, texts, whole numbers, yes and no is refused
 * with its line, and never read as something else; throws SyntaxError.
 */
export const readYaml = (text: string): unknown => new Reader(new Cursor(text)).document();

class Reader extends Flow {
  document(): unknown {
    const { cursor } = this;
    cursor.skip();
    if (cursor.starts("---")) cursor.take(MARK);
    cursor.skip();
    const found = cursor.ended ? null : this.block(-1);
    cursor.skip();
    if (!cursor.ended) {
      const second = cursor.match(MARK) !== null;
      throw cursor.fault(second ? "a second document begins" : "it is indented otherwise than what it belongs to");
    }
    return found;
  }

  private isItem = (): boolean => this.cursor.match(ITEM) !== null;

  private isKey = (): boolean => this.cursor.match(QUOTED_KEY) !== null || this.cursor.match(PLAIN_KEY) !== null;

  /** What begins here, indented by more than `parent`. */
  private block(parent: number): unknown {
    return this.nested(() => {
      if (this.isItem()) return this.items(this.cursor.indent());
      return this.isKey() ? this.fields(this.cursor.indent()) : this.value(parent);
    });
  }

  private items(column: number): unknown[] {
    const { cursor } = this;
    const found: unknown[] = [];
    while (!cursor.ended && cursor.indent() === column && this.isItem()) {
      cursor.at += 1;
      cursor.skip();
      found.push(!cursor.ended && cursor.indent() > column ? this.block(column) : null);
      this.end(column);
    }
    return found;
  }

  private fields(column: number): unknown {
    const { cursor } = this;
    const found = new Map<string, unknown>();
    while (!cursor.ended && cursor.indent() === column && !this.isItem()) {
      if (column === 0 && cursor.match(MARK) !== null) break;
      if (!this.isKey()) throw this.unclear();
      this.put(
        found,
        () => this.key(),
        () => this.fieldValue(column),
      );
      this.end(column);
    }
    return Object.fromEntries(found);
  }

  private key(): string {
    const { cursor } = this;
    if (!this.isQuoted()) return cursor.take(PLAIN_KEY).slice(0, -1).replace(/[ \t]+$/, "");
    const name = cursor.quoted();
    cursor.take(/[ \t]*:/y);
    return name;
  }

  private fieldValue(column: number): unknown {
    const { cursor } = this;
    cursor.skipLine();
    if (!cursor.starts("\n") && !cursor.ended) return this.value(column);
    cursor.skip();
    if (cursor.ended || cursor.indent() < column) return null;
    if (cursor.indent() > column) return this.block(column);
    return this.isItem() ? this.items(column) : null;
  }

  /** What follows is not indented more: it would belong to nothing. */
  private end(column: number): void {
    const { cursor } = this;
    cursor.skip();
    if (!cursor.ended && cursor.indent() > column) throw cursor.fault("it is indented otherwise than what it belongs to");
  }

  private value(parent: number): unknown {
    const { cursor } = this;
    if (cursor.starts("{") || cursor.starts("[")) return this.alone(() => this.flow());
    if (this.isQuoted()) return this.alone(() => cursor.quoted());
    if (cursor.starts("|") || cursor.starts(">")) return this.textBlock(parent);
    return this.plain(parent);
  }

  private alone<T>(read: () => T): T {
    const found = read();
    this.cursor.skipLine();
    if (!this.cursor.starts("\n") && !this.cursor.ended) throw this.cursor.fault("what follows on this line belongs to nothing");
    return found;
  }

  /** A text without quotes; lines that are indented more go on with it. */
  private plain(parent: number): unknown {
    const { cursor } = this;
    const begun = cursor.at;
    if (!this.isText()) throw this.unclear();
    let found = "";
    for (;;) {
      const line = cursor.take(PLAIN_LINE);
      if (/:(?:[ \t]|$)/.test(line)) throw cursor.fault("a text with a ':' before a space must be in quotes", begun);
      found += line;
      const back = cursor.at;
      const gap = cursor.match(/[ \t]*\n/y) === null ? "" : cursor.fold();
      if (gap === "" || cursor.ended || cursor.indent() <= parent || cursor.starts("#")) {
        cursor.at = back;
        return this.scalar(found, begun);
      }
      found += gap;
    }
  }

  /** `|` keeps lines, `>` folds them. */
  private textBlock(parent: number): string {
    const { cursor } = this;
    const head = cursor.take(/[|>]-?(?:[ \t]+#.*|[ \t]*)$/my);
    if (head === "") throw cursor.fault("this text block is not read here: put the text in quotes");
    const lines: string[] = [];
    let indent = 0;
    while (cursor.starts("\n")) {
      const [, space = "", line = ""] = /^\n( *)(.*)$/.exec(cursor.match(/\n.*/y) ?? "") ?? [];
      if (line !== "") {
        indent ||= space.length;
        if (space.length <= parent || space.length < indent) break;
        if (head.startsWith(">") && (space.length > indent || /^\t/.test(line))) {
          throw cursor.fault("the lines of a > text must be indented alike", cursor.at + 1);
        }
      }
      lines.push(`${space}${line}`.slice(indent));
      cursor.take(/\n.*/y);
    }
    const end = lines.findLastIndex((line) => line !== "") + 1;
    const text = lines.slice(0, end).reduce(head.startsWith("|") ? kept : folded, "");
    const isEnded = end < lines.length || !cursor.ended;
    return head[1] === "-" || end === 0 || !isEnded ? text : `${text}\n`;
  }
}

const kept = (before: string, line: string, index: number): string => (index === 0 ? line : `${before}\n${line}`);

/** One end of a line is a space; of several all but one are kept. */
const folded = (before: string, line: string, index: number): string => {
  if (index === 0) return line === "" ? "\n" : line;
  if (line === "") return `${before}\n`;
  return before === "" || before.endsWith("\n") ? before + line : `${before} ${line}`;
};
