"""``anabranch catalog`` and ``artifact``: what the service answers as people read it."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.cli.artifacts import render as of_artifacts
from anabranch.cli.catalog import render
from anabranch.cli.service_change import ServiceChange
from anabranch.streams.versions import StreamSettings
from tests.unit.cli.printing import cells_of

pytestmark = pytest.mark.unit
AT = 1_700_000_000_000
TIME = "2023-11-14 22:13:20"
SUMMARY = {
    "short": "shop.orders",
    "kind": "table",
    "owner": "mei",
    "changed_at": AT,
    "description": "all \x1b[1morders",
}
COLUMNS = [{"name": "id", "type": "INT"}, {"name": "name", "type": "STRING"}]


def test_entries_are_a_line_each_with_what_is_attached_below() -> None:
    """Of another launcher's catalog its launcher is told; what steers a terminal is written as its code."""
    line = ["shop.orders", "table", "mei", TIME, r"all \x1b[1morders"]
    assert cells_of(render.entries([SUMMARY])) == [["NAME", "KIND", "OWNER", "CHANGED", "DESCRIPTION"], line]
    attached = [{"name": "lake", "launcher": StreamSettings().launcher}, {"name": "far", "launcher": "yarn"}]
    assert cells_of(render.entries([SUMMARY], attached))[-1] == [
        "attached: lake, far (launcher yarn); their tables: anabranch catalog list --attached"
    ]
    assert cells_of(render.entries([])) == [
        ["nothing that you may see; define it with: anabranch catalog create FILE.sql --execute"]
    ]


def test_tables_of_attached_catalogs_are_a_line_each() -> None:
    """With what kept one from being read, and that there are more."""
    found = {"launcher": "local", "catalog": "lake", "database": "shop", "table": "paid", "problem": "away"}
    line = ["local", "lake", "shop", "paid", "away"]
    assert cells_of(render.attached_tables([found], is_cut=False))[1:] == [line]
    assert cells_of(render.attached_tables([found], is_cut=True))[1:] == [line, ["there are more"]]
    assert cells_of(render.attached_tables([], is_cut=False))[0][0].startswith("nothing that you may see")


def test_an_entry_says_all_that_it_holds() -> None:
    """A table its provider, columns and options; a view its query, a function its statement."""
    of_table = {
        "provider": "kafka",
        "columns": COLUMNS,
        "comments": {"id": "its number"},
        "options": {"cluster": "old", "topic": "orders"},
    }
    told = {"summary": SUMMARY, "document": of_table, "may": ["read", "write"], "revision": 3, "author": "jo"}
    assert cells_of(render.entry(told)) == [
        ["table shop.orders, of mei; you may read, write"],
        [r"all \x1b[1morders"],
        ["provider kafka"],
        ["COLUMN", "TYPE", "COMMENT"],
        ["id", "INT", "its number"],
        ["name", "STRING"],
        ["cluster = old"],
        ["topic = orders"],
        [f"revision 3, {TIME} by jo"],
    ]
    plain = {**told, "summary": {**SUMMARY, "kind": "view", "description": ""}, "may": []}
    for word in ("query", "statement"):
        assert cells_of(render.entry({**plain, "document": {word: "SELECT 1"}})) == [
            ["view shop.orders, of mei; you may see it"],
            ["SELECT 1"],
            [f"revision 3, {TIME} by jo"],
        ]


def test_versions_grants_and_groups_are_a_line_each() -> None:
    """Who is in a group by the word of a provider is marked."""
    version = {"number": 1_200, "at": AT, "author": "jo", "columns": COLUMNS}
    assert cells_of(render.versions([version]))[1:] == [["1,200", TIME, "jo", "id INT, name STRING"]]
    assert cells_of(render.versions([])) == [["it has no columns of its own"]]
    grant = {
        "securable": "spark_catalog.shop",
        "principal": "group:shop",
        "privilege": "read",
        "at": AT,
        "author": "jo",
    }
    assert cells_of(render.grants([grant]))[1:] == [["spark_catalog.shop", "group:shop", "read", TIME, "jo"]]
    assert cells_of(render.grants([])) == [["no grants that you may see"]]
    group = {"group": "shop", "members": ["ada", "mei"], "claimed": ["ada"]}
    assert cells_of(render.groups([group]))[1:] == [["shop", "ada (provider), mei"]]
    assert cells_of(render.groups([])) == [["no groups that you may see"]]


def test_a_plan_of_definitions_says_what_is_made_what_breaks_and_who_reads_it() -> None:
    """And what came of it."""
    kept = {"change": "keep", "kind": "view", "name": "shop.v", "topic": "", "reasons": [], "readers": []}
    reason = {"severity": "error", "what": "column id goes", "fix": "keep it"}
    made = {
        "change": "change",
        "kind": "table",
        "name": "shop.t",
        "topic": "old/t",
        "reasons": [reason],
        "readers": ["pv", "uv"],
    }
    assert cells_of(render.defining({"changes": [kept, made]})) == [
        ["CHANGE", "KIND", "NAME", "TOPIC"],
        ["keep", "view", "shop.v"],
        ["change", "table", "shop.t", "made: old/t"],
        ["error: shop.t: column id goes"],
        ["fix: keep it"],
        ["shop.t is read by streams: pv, uv"],
    ]
    assert cells_of(render.defined({"changed": ["a", "b"], "topics": ["old/t"]})) == [
        ["done: a, b; topics made: old/t"]
    ]
    assert cells_of(render.defined({"changed": [], "topics": []})) == [["done: nothing changed"]]


def test_an_import_shows_columns_and_what_to_look_at_before_anything_is_kept() -> None:
    """For each table."""
    table = {
        "name": "shop.paid",
        "topic": "paid",
        "samples": 1_000,
        "fit": 998,
        "columns": COLUMNS,
        "notes": ["id is sometimes text"],
    }
    assert cells_of(render.importing({"tables": [table]})) == [
        ["table shop.paid from topic paid: 998 of 1,000 samples fit"],
        ["COLUMN", "TYPE"],
        ["id", "INT"],
        ["name", "STRING"],
        ["note: id is sometimes text"],
    ]


def test_a_plan_of_dropping_says_all_that_goes_and_fails_then() -> None:
    """A topic with its records; nothing more where there is nothing."""
    topic = {"topic": "paid", "cluster": "old", "partitions": 3, "records": 1_234}
    plan: dict[str, Any] = {
        "kind": "table",
        "name": "shop.paid",
        "grants": 2,
        "topic": topic,
        "mentioned": ["shop.v"],
        "readers": ["pv"],
        "writers": ["fill", "top"],
    }
    assert cells_of(render.dropping(plan)) == [
        ["table shop.paid goes, and 2 grants on it"],
        ["topic paid of old is deleted: 3 partitions, 1,234 records"],
        ["views and functions that have its name: shop.v"],
        ["it is read by streams: pv"],
        ["it is written by streams: fill, top"],
    ]
    bare = {**plan, "topic": None, "mentioned": [], "readers": [], "writers": [], "grants": 0}
    assert cells_of(render.dropping(bare)) == [["table shop.paid goes, and 0 grants on it"]]
    assert cells_of(render.dropped({"name": "shop.paid", "topic": "paid"})) == [
        ["done: shop.paid is gone, and topic paid"]
    ]
    assert cells_of(render.dropped({"name": "shop.paid", "topic": ""})) == [["done: shop.paid is gone"]]


def test_rights_are_said_in_sentences() -> None:
    """Given, taken back, and where it is so already."""
    grant = {"privilege": "read", "securable": "spark_catalog.shop", "principal": "user:mei"}
    said = [
        (
            render.granting({"grant": grant, "give": True, "changes": True}),
            "read on spark_catalog.shop is given to user:mei",
        ),
        (
            render.granting({"grant": grant, "give": False, "changes": False}),
            "read on spark_catalog.shop is taken from user:mei (it is so already)",
        ),
        (render.granted({"grant": grant, "given": True}), "done: user:mei may read spark_catalog.shop"),
        (render.granted({"grant": grant, "given": False}), "done: user:mei has no grant to read spark_catalog.shop"),
        (render.setting({"name": "shop.t", "owner": "jo", "description": None}), "shop.t: owner jo"),
        (render.setting({"name": "shop.t", "owner": None, "description": ""}), "shop.t: description"),
        (render.entry_set({"name": "shop.t", "owner": "jo", "description": "all"}), "done: shop.t is of jo: all"),
        (render.grouping({"group": "g", "add": ["a"], "remove": ["b", "c"]}), "group g: a comes, b goes, c goes"),
        (render.grouping({"group": "g", "add": [], "remove": []}), "group g: it is so already"),
        (render.grouped({"group": "g", "members": ["a", "b"]}), "done: group g has a, b"),
        (render.grouped({"group": "g", "members": []}), "done: group g has nobody"),
    ]
    assert [cells_of(made) for made, _ in said] == [[[text]] for _, text in said]


# -- artifacts -------------------------------------------------------------------------------------------------

ARTIFACT = {"name": "text", "kind": "python", "newest": 2, "owner": "mei", "description": "cleans"}
CONTENT = {"file": "text.py", "size": 1_234, "sha256": "0123456789abcdef" * 4}
CLEAN = {
    "name": "text.clean",
    "returns": "STRING",
    "arguments": [
        {"name": "x", "type": "STRING", "optional": False},
        {"name": "how", "type": "", "optional": True},
    ],
}


def version(number: int, uses: list[str]) -> dict[str, Any]:
    """One version of it; the first needs nothing and has no functions."""
    more = [CLEAN], [{"file": "a.whl"}, {"file": "b.whl"}]
    functions, needed = more if number > 1 else ([], [])
    told = {"number": number, "content": CONTENT, "at_ms": AT, "author": "jo", "note": "n"}
    return {"version": {**told, "functions": functions, "dependencies": needed}, "uses": uses}


def test_artifacts_are_a_line_each_and_one_is_shown_with_its_versions() -> None:
    """The functions and the needs of the newest."""
    assert cells_of(of_artifacts.artifacts([ARTIFACT]))[1:] == [["text", "python", "2", "mei", "cleans"]]
    assert cells_of(of_artifacts.artifacts([])) == [
        ["no artifacts; upload one with: anabranch artifact upload NAME FILE"]
    ]
    versions = [version(2, ["stream pv version 3", "stream uv version 1"]), version(1, [])]
    start = "text.py", "1,234", "0123456789ab", TIME, "jo"
    assert cells_of(of_artifacts.artifact({"artifact": ARTIFACT, "versions": versions})) == [
        ["text: python of mei"],
        ["cleans"],
        ["VERSION", "FILE", "BYTES", "SHA-256", "UPLOADED", "BY", "USED BY", "NOTE"],
        ["2", *start, "stream pv version 3, stream uv version 1", "n"],
        ["1", *start, "n"],
        ["FUNCTION", "ARGUMENTS", "RETURNS"],
        ["text.clean", "x STRING, [how]", "STRING"],
        ["with it: a.whl, b.whl"],
    ]
    bare = {**ARTIFACT, "description": ""}
    assert cells_of(of_artifacts.artifact({"artifact": bare, "versions": [version(1, [])]}))[3:] == [
        ["no functions were found in it"],
        ["it needs nothing else"],
    ]
    assert len(cells_of(of_artifacts.artifact({"artifact": bare, "versions": []}))) == 2


def test_plans_and_results_of_artifacts_are_said_in_sentences() -> None:
    """Many functions are cut, with how many more there are."""
    plan = {
        "version": 3,
        "artifact": "text",
        "kind": "python",
        "content": CONTENT,
        "dependencies": [],
        "functions": [CLEAN] * 30,
        "more": 0,
    }
    lines = cells_of(of_artifacts.save_plan(ServiceChange("1", "h", plan)))
    assert lines[0] == [f"version 3 of artifact text: python text.py, 1,234 bytes, SHA-256 {CONTENT['sha256']}"]
    assert (len(lines), lines[-1]) == (1 + 1 + 30 + 1, ["it needs nothing else"])
    for more, left in ((5, "and 6 more"), (0, "and 1 more")):
        cut = of_artifacts.save_plan(ServiceChange("1", "h", {**plan, "functions": [CLEAN] * 31, "more": more}))
        assert cells_of(cut)[-2] == [left]
        assert len(cells_of(cut)) == 1 + 1 + 30 + 2
    done = {"version": 3, "artifact": "text"}
    assert cells_of(of_artifacts.saved(done)) == [
        ["version 3 of artifact text is saved; a script names it 'artifact:text@3'"]
    ]
    going = {"versions": [1, 2], "artifact": "text", "is_last": True}
    assert cells_of(of_artifacts.delete_plan(ServiceChange("1", "h", going))) == [
        ["versions 1, 2 of artifact text are forgotten; it has no others, and goes with them"]
    ]
    assert cells_of(of_artifacts.delete_plan(ServiceChange("1", "h", {**going, "is_last": False}))) == [
        ["versions 1, 2 of artifact text are forgotten"]
    ]
    assert cells_of(of_artifacts.deleted(going)) == [["versions 1, 2 of artifact text are forgotten"]]
