import type { Cursor } from "./cursor";
import { scalarOf } from "./scalars";

const DEEPEST = 50;
/** What begins like this is no text without quotes. */
const NOT_READ: Readonly<Record<string, string>> = {
  "&": "an anchor (&)",
  "*": "an alias (*)",
  "!": "a tag (!)",
  "%": "a directive (%)",
  "?": "a ?",
  "@": "an @",
  "`": "a `",
};
const TEXT = /[^ \t\n"'[\]{},#&*!|>%@`:?-]|[:?-](?=[^ \t\n])/y;
const FLOW_PART = /(?:[^,[\]{}:# \t\n]|:(?![ \t\n,[\]{}]|$)|(?<=[^ \t\n])#|[ \t]+(?![ \t\n#,[\]{}:]|$))*/y;

/** What stands in braces, in brackets or in quotes, as JSON has it. */
export class Flow {
  private depth = 0;

  constructor(protected readonly cursor: Cursor) {}

  protected flow(): unknown {
    return this.nested(() => {
      if (this.cursor.starts("{")) return this.flowFields();
      if (this.cursor.starts("[")) return this.flowItems();
      if (this.isQuoted()) return this.cursor.quoted();
      const begun = this.cursor.at;
      return this.scalar(this.flowPlain(), begun);
    });
  }

  protected nested<T>(read: () => T): T {
    this.depth += 1;
    if (this.depth > DEEPEST) throw this.cursor.fault("it is nested too deep");
    const found = read();
    this.depth -= 1;
    return found;
  }

  protected isQuoted = (): boolean => this.cursor.starts('"') || this.cursor.starts("'");

  protected isText = (): boolean => this.cursor.match(TEXT) !== null;

  protected scalar(text: string, begun: number): unknown {
    try {
      return scalarOf(text);
    } catch (error) {
      throw this.cursor.fault((error as Error).message, begun);
    }
  }

  protected put(found: Map<string, unknown>, key: () => string, value: () => unknown): void {
    const begun = this.cursor.at;
    const isMerge = this.cursor.match(/<<[ \t]*:/y) !== null;
    if (isMerge) throw this.cursor.fault("a merge (<<) is not read here: write the fields out");
    const name = key();
    if (found.has(name)) throw this.cursor.fault(`${name} is given twice`, begun);
    found.set(name, value());
  }

  protected unclear(): SyntaxError {
    const sign = this.cursor.sign();
    const known = NOT_READ[sign];
    if (known !== undefined) return this.cursor.fault(`${known} is not read here: write the value out, a text in quotes`);
    return this.cursor.fault(sign === "" || sign === "\n" ? "a value is missing" : "a field is wanted here, as in name: value");
  }

  private flowItems(): unknown[] {
    const found: unknown[] = [];
    this.between("]", () => found.push(this.flow()));
    return found;
  }

  private flowFields(): unknown {
    const { cursor } = this;
    const found = new Map<string, unknown>();
    this.between("}", () =>
      this.put(
        found,
        () => (this.isQuoted() ? cursor.quoted() : this.flowPlain()),
        () => {
          cursor.skip();
          if (!cursor.starts(":")) return null;
          cursor.at += 1;
          cursor.skip();
          return cursor.starts(",") || cursor.starts("}") ? null : this.flow();
        },
      ),
    );
    return Object.fromEntries(found);
  }

  private between(end: string, one: () => void): void {
    const { cursor } = this;
    const begun = cursor.at;
    cursor.at += 1;
    for (;;) {
      cursor.skip();
      if (cursor.ended) throw cursor.fault(`the ${end} at its end is missing`, begun);
      if (cursor.starts(end)) {
        cursor.at += 1;
        return;
      }
      one();
      cursor.skip();
      if (cursor.starts(",")) cursor.at += 1;
      else if (!cursor.starts(end) && !cursor.ended) throw cursor.fault(`a comma or ${end} is wanted here`);
    }
  }

  private flowPlain(): string {
    const { cursor } = this;
    if (!this.isText()) throw this.unclear();
    let found = "";
    for (;;) {
      found += cursor.take(FLOW_PART);
      if (cursor.match(/[ \t]*\n[ \t\n]*[^ \t\n,[\]{}#:]/y) === null) return found;
      found += cursor.fold();
    }
  }
}
