// What is filled in about a checkpoint as the service takes it, and as a command: without a browser.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { source } from "./support/source.mjs";

let rewrite;
let specs;
before(async () => {
  rewrite = await source("pages/checkpoints/rewriteBody.ts");
  specs = await source("plans/specs.tsx");
});

test("lines of a rewrite are read as the command line reads them, and written so again", () => {
  const body = {
    offsets: ["a-b-0:7", "a-b-1:9"],
    rename: ["a=b"],
    dynamic: ["old=new@h:9092"],
    split: ["0=a, b|c", "in=one:a|two:b,c"],
    merge: ["0, 1", "2,3,4"],
    drop: ["5"],
    uncommitted: "refuse",
    target: "new",
  };
  assert.equal(rewrite.spelledOut(body), null);
  assert.deepEqual(rewrite.withoutUsual(body), {
    offsets: { "a-b": { 0: 7, 1: 9 } },
    rename: { a: "b" },
    dynamic: { old: { id: "new", bootstrap: "h:9092" } },
    split: {
      0: [{ topics: ["a", "b"] }, { topics: ["c"] }],
      in: [
        { topics: ["a"], name: "one" },
        { topics: ["b", "c"], name: "two" },
      ],
    },
    merge: [
      ["0", "1"],
      ["2", "3", "4"],
    ],
    drop: ["5"],
    target: "new",
  });
  const told = Object.fromEntries(rewrite.rewriteOptions(body).filter(([, value]) => value !== undefined && value.length !== 0));
  assert.deepEqual(told, {
    "--offsets": "offsets.json",
    "--target": "new",
    "--rename": ["a=b"],
    "--dynamic-cluster": ["old=new@h:9092"],
    "--split": ["0=a,b|c", "in=one:a|two:b,c"],
    "--merge": ["0,1", "2,3,4"],
    "--drop-source": ["5"],
  });
  assert.deepEqual(JSON.parse(rewrite.offsetFiles(body)["offsets.json"]).offsets, body.offsets);
});

test("a line that is unclear is named, with how it is written", () => {
  const unclear = [
    ["offsets", "a:7", "not TOPIC-PARTITION:OFFSET"],
    ["rename", "a=", "not OLD=NEW"],
    ["dynamic", "old=new", "not OLD=NEW@HOST:PORT"],
    ["split", "0=a", "not ID=T1,T2|T3"],
    ["split", "0=a|a", "not ID=T1,T2|T3"],
    ["split", "0=x:a|b", "not ID=T1,T2|T3"],
    ["split", "0=x:a|x:b", "not ID=T1,T2|T3"],
    ["merge", "0", "not ID,ID"],
    ["merge", "0,0", "not ID,ID"],
  ];
  for (const [name, line, why] of unclear) {
    const told = rewrite.spelledOut({ [name]: [line] });
    assert.ok(told?.startsWith(`${line}: ${why}`), `${line}: ${told}`);
  }
  assert.match(rewrite.spelledOut({ split: ["0=a|b", "0=c|d"] }), /^0=c\|d: /);
});

test("a choice of yes, no and neither is sent as a truth, or not at all", () => {
  const fields = [{ name: "sql", label: "", kind: "truth" }];
  const of = (sql) => specs.bodyOf(fields, { sql });
  assert.deepEqual([of("yes"), of("no"), of("")], [{ sql: true }, { sql: false }, {}]);
});
