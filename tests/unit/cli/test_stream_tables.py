"""``anabranch stream`` and ``lineage``: what the service answers as tables and sentences."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.cli.service_change import ServiceChange
from anabranch.cli.streams import render, render_lineage
from tests.unit.cli.printing import cells_of

pytestmark = pytest.mark.unit
NOW = 1_700_000_000_000
TIME = "2023-11-14 22:13:20"
QUERY: dict[str, Any] = {
    "query": "q",
    "connector": "kafka",
    "batch": 1_200,
    "rows_in": 5_000,
    "rows_per_second": 10.4,
    "batch_ms": 30,
    "lag": 7,
    "state_rows": None,
    "errors": 0,
    "retries": 2,
    "watermark": "12:00",
}
SILENT = {**QUERY, "query": "p", "rows_per_second": None, "lag": None, "watermark": None}
STREAM: dict[str, Any] = {
    "name": "pv",
    "kind": "sql",
    "state": "running",
    "since_ms": NOW - 61_000,
    "running_version": 2,
    "published": 2,
    "queries": [QUERY, QUERY, SILENT],
    "owner": "mei",
    "target": "",
    "look": "",
    "description": "",
    "why": "",
}
LINK = {
    **STREAM,
    "name": "old-new",
    "kind": "link",
    "queries": [],
    "since_ms": None,
    "target": "new",
    "look": "anabranch link show old-new",
}


def plan(**told: Any) -> ServiceChange:
    """A plan as the service answers it."""
    return ServiceChange("c-1", "abc", told)


def test_streams_are_a_line_each_with_what_their_queries_do_together() -> None:
    """What is not known is left blank; of a link it is told where more stands."""
    assert cells_of(render.streams([STREAM], NOW)) == [
        ["STREAM", "KIND", "STATE", "SINCE", "VERSION", "QUERIES", "ROWS/S", "LAG", "OWNER"],
        ["pv", "sql", "running", "1 min 1 s", "2", "3", "21", "14", "mei"],
    ]
    draft = {**STREAM, "state": "draft", "queries": [SILENT], "running_version": None}
    assert cells_of(render.streams([draft], NOW))[1] == ["pv", "sql", "draft", "1 min 1 s", "2", "1", "mei"]
    ahead = {**STREAM, "published": 3}
    assert cells_of(render.streams([ahead, LINK], NOW))[1:] == [
        ["pv", "sql", "running", "1 min 1 s", "2 (3 is published)", "3", "21", "14", "mei"],
        ["old-new", "link", "running", "to new"],
        ["more of a link, as of the first here: anabranch link show old-new"],
    ]
    assert cells_of(render.streams([], NOW)) == [["no streams; save one with: anabranch stream create NAME FILE"]]


def test_a_stream_is_shown_with_its_queries_and_its_newest_runs() -> None:
    """An exit code only of a run that has ended; a link has a version of nothing."""
    run = {
        "id": "run-1",
        "version": 2,
        "fence": 4,
        "launcher": "local",
        "began_at_ms": NOW,
        "ended_at_ms": None,
        "exit_code": None,
        "why": "",
    }
    over = {**run, "id": "run-0", "ended_at_ms": NOW, "exit_code": 1, "why": "a \x1b b"}
    told = {**STREAM, "description": "counts", "why": "slow", "queries": [QUERY, SILENT]}
    answer = {"stream": told, "runs": [run, over, *[run] * 9], "checkpoints": "/data/pv"}
    lines = cells_of(render.stream(answer, NOW))
    assert lines[:6] == [
        ["pv: running for 1 min 1 s, version 2"],
        ["counts"],
        ["slow"],
        [
            *("QUERY", "CONNECTOR", "BATCH", "ROWS IN", "ROWS/S", "BATCH MS", "LAG", "STATE ROWS", "ERRORS"),
            *("RETRIES", "WATERMARK"),
        ],
        ["q", "kafka", "1,200", "5,000", "10", "30", "7", "?", "0", "2", "12:00"],
        ["p", "kafka", "1,200", "5,000", "?", "30", "?", "?", "0", "2"],
    ]
    assert lines[6:9] == [
        ["RUN", "VERSION", "START", "LAUNCHER", "BEGAN", "ENDED", "EXIT CODE", "WHY"],
        ["run-1", "2", "4", "local", TIME],
        ["run-0", "2", "4", "local", TIME, TIME, "1", r"a \x1b b"],
    ]
    assert (len(lines), lines[-1]) == (6 + 1 + render.MOST_RUNS + 1, ["checkpoints: /data/pv"])
    of_link = {"stream": {**LINK, "state": "lost"}, "runs": [], "checkpoints": ""}
    assert cells_of(render.stream(of_link, NOW)) == [
        ["old-new: lost, a link to new"],
        ["more: anabranch link show old-new"],
    ]


def test_versions_are_a_line_each_and_the_published_one_is_marked() -> None:
    """And a difference is shown as it is."""
    settings = {"trigger": "5 seconds", "restarts": 3, "launcher": "local"}
    version = {"number": 2, "at_ms": NOW, "author": "jo", "note": "more", "settings": settings}
    answer = {"stream": {"published": 1}, "versions": [version, {**version, "number": 1}]}
    assert cells_of(render.versions(answer))[1:] == [
        ["2", TIME, "jo", "5 seconds", "3", "local", "more"],
        ["1 *", TIME, "jo", "5 seconds", "3", "local", "more"],
        ["* is published: the next start runs it"],
    ]
    assert cells_of(render.diff(["-a", "+b \x1b"])) == [["-a"], [r"+b \x1b"]]
    assert cells_of(render.diff([])) == [["no difference"]]


def test_the_plan_of_a_version_has_its_queries_and_what_it_runs_with() -> None:
    """Beside the difference to the one before, where there is one; a file of Python is told to run any code."""
    query = {
        "query": "q",
        "statement": 3,
        "table": "shop.out",
        "connector": "kafka",
        "mode": "append",
        "columns": [{"name": "id", "type": "INT"}, {"name": "n", "type": "BIGINT"}],
    }
    pins = [
        {"artifact": "text", "number": 2, "functions": [{"name": "clean"}, {"name": "trim"}]},
        {"artifact": "own", "number": 1, "functions": []},
    ]
    told = {
        "version": 2,
        "stream": "pv",
        "kind": "sql",
        "statements": ["a", "b"],
        "queries": [query],
        "artifacts": pins,
        "base": 1,
        "diff": ["+b"],
    }
    lines = [
        ["version 2 of stream pv, 2 statements"],
        ["QUERY", "STATEMENT", "INTO", "CONNECTOR", "OUTPUT MODE", "COLUMNS"],
        ["q", "3", "shop.out", "kafka", "append", "id INT, n BIGINT"],
        ["it runs with text@2 (clean, trim), own@1"],
        ["+b"],
    ]
    assert cells_of(render.save_plan(plan(**told))) == lines
    assert cells_of(render.save_plan(plan(**{**told, "base": 0}))) == lines[:-1]
    assert cells_of(render.save_plan(plan(**{**told, "artifacts": []}))) == [*lines[:3], lines[4]]
    head = ["version 2 of stream pv, a PySpark file: it runs any code with the rights of the service's user"]
    assert cells_of(render.save_plan(plan(**{**told, "kind": "pyspark"}))) == [head, ["+b"]]
    assert cells_of(render.save_plan(plan(**{**told, "kind": "pyspark", "base": 0}))) == [head]


def test_the_plan_of_a_run_says_what_it_goes_on_with_and_what_is_written_again() -> None:
    """Its state, its start, and each query that goes back; of a link where it leads."""
    told: dict[str, Any] = {
        "verb": "restart",
        "stream": "pv",
        "target": "",
        "state": "running",
        "version": 2,
        "choice": "",
        "start": "",
        "back": [],
    }
    head = "restart stream pv, which is running; version 2"

    def first(**more: Any) -> list[list[str]]:
        return cells_of(render.run_plan(plan(**{**told, **more})))

    assert first() == [[head]]
    assert first(choice="keep") == [[f"{head}; its state is kept"]]
    assert first(choice="new") == [[f"{head}; a state that does not fit begins again, empty"]]
    assert first(start="earliest") == [[f"{head}; every query begins again at earliest"]]
    back = [{"query": "q", "records": 1_200}, {"query": "p", "records": None}]
    assert first(back=back, checkpoint="nightly")[1:] == [
        ["query q goes back to checkpoint nightly, by 1,200 records: what it wrote since is written again"],
        [
            "query p goes back to checkpoint nightly, by a number of records that is not known: what it wrote since is "
            "written again"
        ],
    ]
    assert first(target="new", verb="stop", state="lost") == [["stop link pv to new, which is lost"]]


def test_other_plans_and_what_came_of_them_are_sentences() -> None:
    """With the command that comes next, of the same service."""
    lost = {
        "run": "run-1",
        "stream": "pv",
        "host": "m1",
        "silent_since": NOW,
        "wanted": "running",
        "may": ["it may write on"],
    }
    said = [
        (
            render.publish_plan(plan(stream="pv", after=3, before=2)),
            ["the next start of stream pv runs version 3; it was 2"],
        ),
        (
            render.delete_plan(plan(stream="pv", versions=3, runs=1_200)),
            ["stream pv is forgotten, with 3 versions and 1,200 runs; its checkpoints stay"],
        ),
        (
            render.abandon_plan(plan(**lost)),
            [
                f"run-1 of stream pv is given up: machine m1 is not heard of since {TIME}; it is started on another "
                "machine",
                "it may write on",
            ],
        ),
        (
            render.abandon_plan(plan(**{**lost, "wanted": "stopped", "may": []})),
            [f"run-1 of stream pv is given up: machine m1 is not heard of since {TIME}; it stays stopped"],
        ),
        (
            render.abandoned({"stream": "pv", "wanted": "stopped"}),
            ["the run of stream pv is given up; the stream is wanted stopped"],
        ),
        (
            render.created({"stream": "p v"}, None),
            ["stream p v is saved; start it with: anabranch stream start 'p v'"],
        ),
        (
            render.saved({"stream": "pv", "version": 3}, None),
            ["version 3 of stream pv is saved; publish it with: anabranch stream publish pv 3"],
        ),
        (
            render.published({"stream": "pv", "version": 3, "wanted": "stopped"}),
            ["version 3 of stream pv is published"],
        ),
        (
            render.published({"stream": "pv", "version": 3, "wanted": "running"}),
            ["version 3 of stream pv is published; have it run with: anabranch stream restart pv"],
        ),
        (render.wanted({"stream": "pv", "target": "", "wanted": "stopped"}), ["stream pv is wanted stopped"]),
        (render.wanted({"stream": "l", "target": "new", "run": "run-7"}), ["link l to new runs as run-7"]),
        (render.wanted({"stream": "l", "target": "new", "run": ""}), ["link l to new has ended"]),
        (render.deleted({"stream": "pv"}), ["stream pv is forgotten"]),
    ]
    assert [cells_of(made) for made, _ in said] == [[[line] for line in lines] for _, lines in said]
    assert "--service http://h:1" in cells_of(render.saved({"stream": "pv", "version": 3}, "http://h:1"))[0][0]
    assert "--service http://h:1" in cells_of(render.created({"stream": "pv"}, "http://h:1"))[0][0]


# -- lineage ---------------------------------------------------------------------------------------------------


def edge(source: str, target: str, path: tuple[str, ...] = (), kind: str = "copy") -> dict[str, Any]:
    """An edge between columns of shop.a and shop.b."""
    return {
        "source_table": "shop.a",
        "source_column": source,
        "target_table": "shop.b",
        "target_column": target,
        "path": path,
        "kind": kind,
    }


def test_the_lineage_of_a_stream_is_an_edge_a_line_and_what_is_not_understood() -> None:
    """All of it, or of one column on either side, whatever its case."""
    inserts = [
        {
            "target": "shop.b",
            "sources": ["shop.a"],
            "edges": [edge("id", "n"), edge("id", "", ("x", "y"), "filter")],
            "not_understood": ["an expression", "f()"],
        },
        {"target": "shop.c", "sources": [], "edges": [], "not_understood": []},
    ]
    answer = {
        "stream": "pv",
        "version": 2,
        "told_at_ms": NOW,
        "inserts": inserts,
        "hidden": ["shop.x", "shop.y"],
        "functions": [{"function": "clean", "artifact": "text@2"}, {"function": "trim", "artifact": "text@2"}],
    }
    head, noted = [f"stream pv, version 2, told {TIME}"], "not understood in it, so there may be fewer edges: "
    unseen = ["you may not see columns of shop.x, shop.y"]
    assert cells_of(render_lineage.stream(answer, None)) == [
        head,
        ["FROM", "TO", "KIND"],
        ["shop.a.id", "shop.b.n", "copy"],
        ["shop.a.id.x.y", "shop.b.*", "filter"],
        ["shop.b is written from shop.a"],
        [f"{noted}an expression, f()"],
        ["shop.c is written from no table"],
        ["it calls clean of artifact text@2, trim of artifact text@2"],
        unseen,
    ]
    one = ["FROM", "TO", "KIND"], ["shop.a.id", "shop.b.n", "copy"], [f"{noted}an expression, f()"], unseen
    assert cells_of(render_lineage.stream(answer, "SHOP.B.N")) == [head, *one]
    assert len(cells_of(render_lineage.stream(answer, "shop.a.ID"))) == len(one) + 2
    assert cells_of(render_lineage.stream(answer, "shop.a.other")) == [head, *one[2:]]


def test_who_reads_a_column_and_what_breaks_without_it_is_told() -> None:
    """With what is not known: parts that are not understood, streams that have told nothing."""
    readers = [
        {"stream": "pv", "target": "shop.b", "columns": ["n", "m"], "is_for_rows": True, "kinds": ["copy", "filter"]},
        {"stream": "uv", "target": "shop.c", "columns": [], "is_for_rows": False, "kinds": []},
    ]
    answer: dict[str, Any] = {
        "column": "shop.a.id",
        "readers": readers,
        "streams": ["pv", "uv"],
        "lost": ["shop.b.n"],
        "changed": ["shop.b.*"],
        "uncertain": ["pv"],
        "unknown": ["top", "new"],
    }
    read = [
        ["shop.a.id is read by:"],
        ["STREAM", "WRITES", "COLUMNS", "KINDS"],
        ["pv", "shop.b", "n, m, *", "copy, filter"],
        ["uv", "shop.c", "named alone"],
    ]
    unsure = [["parts are not understood of: pv"], ["no lineage yet of: top, new"]]
    assert cells_of(render_lineage.column(answer, impact=False)) == [*read, *unsure]
    breaks = [["without it break: pv, uv"], ["lost: shop.b.n"], ["changed: shop.b.*"]]
    assert cells_of(render_lineage.column(answer, impact=True)) == [*read, *breaks, *unsure]
    none = {"column": "shop.a.id", "readers": [], "streams": [], "lost": [], "changed": [], "uncertain": []}
    assert cells_of(render_lineage.column({**none, "unknown": []}, impact=True)) == [
        ["no stream that has told its lineage reads shop.a.id"],
        ["without it no stream breaks"],
    ]
