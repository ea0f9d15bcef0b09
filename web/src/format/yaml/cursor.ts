const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  "\t": "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
};
const DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** A place in a text. */
export class Cursor {
  at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
    const odd = /[\x85\u2028\u2029]/.exec(this.text);
    if (odd !== null) throw this.fault("a sign that some take for the end of a line: write it as \\u2028 in quotes", odd.index);
  }

  get ended(): boolean {
    return this.at >= this.text.length;
  }

  /** How far this place is from the start of its line. */
  indent(): number {
    const begin = this.at === 0 ? 0 : this.text.lastIndexOf("\n", this.at - 1) + 1;
    if (this.text.slice(begin, this.at).includes("\t")) throw this.fault("a tab cannot indent: use spaces");
    return this.at - begin;
  }

  sign(): string {
    return this.text[this.at] ?? "";
  }

  starts(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** What matches here; the expression is sticky. */
  match(expression: RegExp): string | null {
    expression.lastIndex = this.at;
    return expression.exec(this.text)?.[0] ?? null;
  }

  /** The same, and past it. */
  take(expression: RegExp): string {
    const found = this.match(expression) ?? "";
    this.at += found.length;
    return found;
  }

  /** Why it cannot be read, with its line. */
  fault(what: string, at = this.at): SyntaxError {
    return new SyntaxError(`line ${this.text.slice(0, at).split("\n").length}: ${what}`);
  }

  /** Past spaces and a comment. */
  skipLine(): void {
    const space = this.take(/[ \t]*/y);
    if (this.sign() === "#" && (space !== "" || this.at === 0 || this.text[this.at - 1] === "\n")) this.take(/.*/y);
  }

  /** Past spaces, comments and ends of lines. */
  skip(): void {
    this.skipLine();
    while (this.starts("\n")) {
      this.at += 1;
      this.skipLine();
    }
  }

  /** Past the end of a line and the empty lines after it: what they are in a text that is folded. */
  fold(): string {
    const lines = this.take(/(?:[ \t]*\n)*/y).split("\n").length - 1;
    this.take(/[ \t]*/y);
    return "\n".repeat(Math.max(0, lines - 1)) || " ";
  }

  /** A text in quotes. */
  quoted(): string {
    const begun = this.at;
    const quote = this.sign();
    const others = quote === '"' ? /[^"\\\n]*/y : /[^'\n]*/y;
    let found = "";
    this.at += 1;
    for (;;) {
      found += this.take(others);
      if (this.ended) throw this.fault(`the ${quote} has no second one`, begun);
      if (this.starts("\n")) found = found.replace(/[ \t]+$/, "") + this.fold();
      else if (this.starts("''") && quote === "'") {
        found += "'";
        this.at += 2;
      } else if (this.starts(quote)) {
        this.at += 1;
        return found;
      } else found += this.escaped();
    }
  }

  private escaped(): string {
    const begun = this.at;
    if (this.take(/\\\n[ \t]*/y) !== "") return "";
    this.at += 1;
    const sign = this.sign();
    this.at += 1;
    const digits = DIGITS[sign];
    const found = ESCAPES[sign];
    if (digits === undefined) {
      if (found === undefined) throw this.fault(`\\${sign} stands for nothing`, begun);
      return found;
    }
    const code = this.text.slice(this.at, this.at + digits);
    this.at += digits;
    const isCode = code.length === digits && /^[\da-fA-F]+$/.test(code) && parseInt(code, 16) <= 0x10ffff;
    if (!isCode) throw this.fault(`\\${sign}${code} is no character`, begun);
    return digits === 8 ? String.fromCodePoint(parseInt(code, 16)) : String.fromCharCode(parseInt(code, 16));
  }
}
