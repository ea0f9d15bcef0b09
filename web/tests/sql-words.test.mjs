// What editors and comparisons know of SQL without a service: no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./support/source.mjs";

const { declaredIn, statementAt, usedIn } = await source("editor/names.ts");
const { folded, lineDiff } = await source("format/linediff.ts");

test("a script that is half written tells its tables with their columns, whatever stands in comments and texts", () => {
  const script = `-- CREATE TABLE not_this (a INT)
    CREATE OR REPLACE TEMPORARY TABLE \`Orders\` (id BIGINT NOT NULL, who STRUCT<id: INT, country: STRING>, amount DECIMAL(10, 2))
    USING kafka OPTIONS (topic 'CREATE TABLE nor_this (a INT)');
    CREATE VIEW large AS SELECT * FROM orders WHERE`;
  assert.deepEqual(
    declaredIn(script).map(({ kind, name, columns }) => [kind, name, columns.map((one) => one.name)]),
    [
      ["table", "orders", ["id", "who", "amount"]],
      ["view", "large", []],
    ],
  );
});

test("a statement tells what it reads under which name", () => {
  const script = "SELECT 1; SELECT o. FROM STREAM shop.orders WATERMARK at DELAY OF INTERVAL 10 MINUTES AS o JOIN views WHERE a = 'FROM x'; SELECT 2";
  const statement = statementAt(script, script.indexOf("o. FROM"));
  assert.doesNotMatch(statement, /SELECT 1|SELECT 2/);
  assert.deepEqual(usedIn(statement), [
    { name: "shop.orders", alias: "o" },
    { name: "views", alias: "views" },
  ]);
});

test("lines that both texts have stand beside each other, and long stretches of them are folded", () => {
  const before = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
  const after = ["a", "b", "c", "d", "e", "f", "g", "H", "i", "j"];
  const rows = lineDiff(before.join("\n"), after.join("\n"));
  assert.deepEqual(
    rows.filter((row) => !row.same).map((row) => [row.before?.text ?? null, row.after?.text ?? null]),
    [
      ["h", "H"],
      [null, "j"],
    ],
  );
  assert.deepEqual(rows.map((row) => row.before?.text).filter((text) => text !== undefined), before);
  assert.deepEqual(rows.map((row) => row.after?.text).filter((text) => text !== undefined), after);
  assert.deepEqual(folded(rows)[0], 4);
  assert.equal(lineDiff("a\nb\n", "a\nb").every((row) => row.same), true);
});
