// Routes files in the browser: what is read is what the service reads, everything else is refused with its line.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { before, test } from "node:test";
import { source } from "./support/source.mjs";
import { example, TABLE } from "./support/routes.mjs";

let readYaml;
let yamlText;
let table;
let words;
before(async () => {
  ({ readYaml } = await source("format/yaml/read.ts"));
  ({ yamlText } = await source("format/yaml/write.ts"));
  table = await source("routes/table.ts");
  words = await source("routes/words.ts");
});

const READ = {
  "codes: {orders: {cluster: old}}": { codes: { orders: { cluster: "old" } } },
  "a:\n- 1\n- b: x\n  c: y\nd:\n  - [e, 'f']": { a: [1, { b: "x", c: "y" }], d: [["e", "f"]] },
  "# a file\na: b # said\nc: d#e": { a: "b", c: "d#e" },
  "a: yes\nb: 'yes'\nc: off\nd: ~\ne:\nf: -7": { a: true, b: "yes", c: false, d: null, e: null, f: -7 },
  "at: [10.0.0.1:9092, '[::1]:9092']": { at: ["10.0.0.1:9092", "[::1]:9092"] },
  "a: one\n  two\n\n  three\nb: x": { a: "one two\nthree", b: "x" },
  'a: "one\n  two \\u00e9\\\n  three"\nb: \'it\'\'s\'': { a: "one two éthree", b: "it's" },
  "a: |\n  one\n    two\nb: >-\n  three\n  four": { a: "one\n  two\n", b: "three four" },
  "a: |\n  one\n  two": { a: "one\ntwo" },
  "a: >\n  one\n  two\nb: |+\n  x\n\n": { a: "one two\n", b: "x\n\n" },
  '{"a":"b",\n\t"c":[1,true,null],"d":{}}': { a: "b", c: [1, true, null], d: {} },
  "---\na: '*'\nb: \"*-berlin\"\nc: payments*": { a: "*", b: "*-berlin", c: "payments*" },
  "a: b\r\nc: d\r\n": { a: "b", c: "d" },
  "__proto__: x": JSON.parse('{"__proto__": "x"}'),
};

test("files are read as the service reads them", () => {
  for (const [text, value] of Object.entries(READ)) assert.deepEqual(readYaml(text), value, text);
  assert.equal(readYaml("# nothing\n"), null);
});

const REFUSED = {
  "a: 1\na: 2": /line 2: a is given twice/,
  '{"a": 1, "a": 2}': /line 1: a is given twice/,
  "a: *x": /an alias \(\*\) is not read here/,
  "a: &x b": /an anchor \(&\)/,
  "a: !!str b": /a tag \(!\)/,
  "<<: {a: b}": /a merge/,
  "a: b: c": /a text with a ':' before a space must be in quotes/,
  "a:\n  b: c\n d: e": /line 3: it is indented otherwise/,
  "a: [b": /the \] at its end is missing/,
  "a: 'b": /line 1: missing closing 'quote/,
  "a: {b: c} d": /line 1: unexpected scalar at node end/,
  "a: 1.5": /1.5 is no text as it stands here: put it in quotes/,
  "a: 2026-01-01": /put it in quotes/,
  "a: 0123": /put it in quotes/,
  "a: 12:30": /put it in quotes/,
  "a: 0777": /put it in quotes/,
  "a: [1:30, x]": /1:30 is no text as it stands here: put it in quotes/,
  "codes:\n  yes: {cluster: old}": /line 2: yes is no name as it stands here: put it in quotes/,
  "a: {?: b}": /line 1: \? is no name/,
  "|\n# no comment": /a text alone/,
  "12: x": /line 1: 12 is no name/,
  "[a]: b": /line 1: this is no name/,
  "%YAML 1.1\n---\na: b": /a directive \(%\)/,
  "&a b: c": /an anchor \(&\)/,
  "!!map\na: b": /a tag \(!\)/,
  "a: b\rc: d": /line 1: a sign that some take for the end of a line/,
  "a: b\n---\nc: d": /a second document begins/,
  "\ta: b": /a tab cannot indent/,
  [`a: ${"[".repeat(60)}${"]".repeat(60)}`]: /line 1: it is nested too deep/,
  [`${"[".repeat(100_000)}${"]".repeat(100_000)}`]: /line 1: it is nested too deep/,
};

test("what is not clear is refused, and never read as something else", () => {
  for (const [text, why] of Object.entries(REFUSED)) assert.throws(() => readYaml(text), { name: "SyntaxError", message: why }, text.slice(0, 80));
});

test("what is written is read again, whatever stands in it", () => {
  const odd = ["yes", "1", "0.5", "12:30", "~", "", " a", "a: b", "a #b", "-", "- a", "*", "it's", '"', "a\nb", "\\*", "\u2028", "é", "null", "{x}", "<<", "2026-01-01"];
  const value = { version: 1, ...Object.fromEntries(odd.map((one) => [one, one])), list: [...odd, [], {}, { a: [{ b: odd }] }], no: false, n: null };
  assert.deepEqual(readYaml(yamlText(value)), value);
  assert.deepEqual(readYaml(yamlText(TABLE)), TABLE);
  assert.equal(yamlText({ codes: { orders: { cluster: "old" } }, rules: [{ name: "a", match: {}, to: { cluster: "new" } }] }), "codes:\n  orders:\n    cluster: old\nrules:\n  - name: a\n    match: {}\n    to:\n      cluster: new\n");
});

test("every example is read, and is the same table once it is written", () => {
  const names = readdirSync(new URL("../../examples/routes", import.meta.url)).filter((name) => name.endsWith(".yaml"));
  assert.ok(names.length >= 8);
  for (const name of names) {
    const read = readYaml(example(name.slice(0, -5)));
    assert.ok(Object.keys(read.codes).length, name);
    assert.ok(table.isSameTable(table.tableOf(read), table.tableOf(readYaml(yamlText(read)))), name);
  }
});

test("a large file is read in no time", () => {
  const rules = Array.from({ length: 5_000 }, (_, number) => ({ name: `rule-${number}`, priority: number, match: { code: "orders", group: `group-${number}` }, to: { cluster: "new" } }));
  const began = performance.now();
  assert.equal(readYaml(yamlText({ rules })).rules.length, 5_000);
  assert.equal(readYaml(JSON.stringify({ rules })).rules.length, 5_000);
  assert.ok(performance.now() - began < 30_000);
});

test("a table is told in words, and so is what another has otherwise", () => {
  const { tableOf } = table;
  const { tableDifferences, differencesWords, matchWords, leadsTo, endOf } = words;
  const before = tableOf(TABLE);
  assert.deepEqual(
    before.rules.map((rule) => `${rule.name}: ${matchWords(rule)} -> ${leadsTo(rule.to)}`),
    [
      "job-1234: consumers with code orders, group enrich-1234, parameter job_id 1234 -> cluster new; topics are called old.{topic} there; may only read",
      "all-of-billing: clients with group billing* -> cluster old",
    ],
  );
  assert.equal(endOf(before, "shop"), "old");
  assert.equal(endOf(tableOf({ codes: { a: { code: "b" }, b: { code: "a" } } }), "a"), "");
  const after = tableOf({
    codes: { orders: { cluster: "new", description: "ask team shop" }, more: { cluster: "old" } },
    rules: [{ ...TABLE.rules[0], priority: 7 }, { name: "everyone", match: {}, to: { cluster: "old" } }],
    clusters: { new: { bootstrap: ["new:9093"], security: { protocol: "SASL_SSL", sasl: { mechanism: "PLAIN", username: "shop", password_env: "KAFKA_PASSWORD" } } } },
  });
  const found = tableDifferences(before, after);
  assert.equal(differencesWords(found), "1 code is new, 1 code changed, 1 code is gone, 1 rule is gone, 1 rule is new, 1 rule changed, 1 cluster is new");
  const told = found.map((one) => [one.change, one.what, one.part, one.before, one.after].join(" | "));
  assert.deepEqual(told, [
    "new | code more |  |  | leads to cluster old",
    "changed | code orders | leads to | cluster old | cluster new",
    "gone | code shop |  | leads to code orders | ",
    "gone | rule all-of-billing |  | matches clients with group billing*; leads to cluster old; priority 0 | ",
    "new | rule everyone |  |  | matches every client; leads to cluster old; priority 0",
    "changed | rule job-1234 | priority | 100 | 7",
    "new | cluster new |  |  | is reached at new:9093; security SASL_SSL, PLAIN, password_env KAFKA_PASSWORD, username shop",
  ]);
  assert.deepEqual(tableDifferences(after, after), []);
  // Defaults that are written out are no difference.
  const full = { codes: { orders: { cluster: "old", code: null, topics: "{topic}", read: true, write: true, description: "" } } };
  assert.ok(table.isSameTable(tableOf(full), tableOf({ version: 1, codes: { orders: { cluster: "old" } }, rules: [] })));
});
