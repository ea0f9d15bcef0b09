"""``anabranch stream``: events as lines for people."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from anabranch.cli.streams import render
from anabranch.cli.streams.preview import PreviewLines
from anabranch.cli.streams.run import tell_text
from anabranch.cli.streams.validate import analysed
from anabranch.streams.events import StreamEvent, StreamEventKind

pytestmark = pytest.mark.unit


def event(kind: StreamEventKind, **fields: Any) -> StreamEvent:
    """One event of stream ``pv``."""
    return StreamEvent(kind, {"stream": "pv", "time": "2026-01-01T00:00:00.000Z", **fields})


def test_a_run_tells_its_batches_and_shows_rows_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output has the rows of console tables alone; a trigger without rows says nothing."""
    progress = {"query": "q", "batch": 2, "rows_in": 1200, "rows_out": None, "batch_ms": 30, "lag": 4, "state_rows": 5}
    for one in (
        event(StreamEventKind.STARTED, queries=[{"query": "q", "resumed": True}, {"query": "p", "resumed": False}]),
        event(StreamEventKind.PROGRESS, **progress),
        event(StreamEventKind.PROGRESS, query="q", batch=3, rows_in=0, rows_out=0),
        event(
            StreamEventKind.ROWS, query="q", batch=2, columns=["a", "b"], rows=[[1, None], ["x", {"k": 1}]], more=True
        ),
        event(StreamEventKind.ENDED, outcome="stopped", seconds=7.5, queries={"q": {"rows_in": 1200}}),
        event(StreamEventKind.ENDED, outcome="failed"),
    ):
        tell_text(one, "")
    shown = capsys.readouterr()

    assert shown.err.splitlines() == [
        "2026-01-01 00:00:00Z  pv: started: q goes on, p begins",
        "2026-01-01 00:00:00Z  pv: q, batch 2: 1,200 rows in, 30 ms, lag 4, state 5 rows",
        "2026-01-01 00:00:00Z  pv: stopped after 7.5 s: q 1,200 rows in",
    ]
    assert shown.out == '-- q, batch 2\na  b\n1  null\nx  {"k": 1}\n...\n'


def test_a_preview_has_columns_as_wide_as_its_first_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows are written as they come; what ended it early is said."""
    lines = PreviewLines(5.0)
    columns = [{"name": "page", "type": "string"}, {"name": "n", "type": "bigint"}]
    lines.tell(event(StreamEventKind.COLUMNS, columns=columns), "")
    lines.tell(event(StreamEventKind.ROWS, rows=[["/basket", 1]]), "")
    lines.tell(event(StreamEventKind.ROWS, rows=[["/", None]]), "")
    lines.tell(event(StreamEventKind.ENDED, outcome="timeout", rows=2), "")
    shown = capsys.readouterr()

    assert shown.out.splitlines() == ["page     n", "/basket  1", "/        null"]
    assert shown.err == "2 rows came in 5 s; --seconds waits longer\n"


def test_a_validated_script_shows_statements_and_queries() -> None:
    """What each statement is, and where each INSERT goes."""
    column = {"name": "n", "type": "bigint"}
    found = {
        "statements": [
            {"number": 1, "line": 1, "kind": "table", "name": "t"},
            {"number": 2, "line": 3, "kind": "insert", "name": "t"},
        ],
        "tables": [{"name": "t", "line": 1, "connector": "noop", "columns": [column]}],
        "selects": [{"number": 2, "line": 3, "columns": [column]}],
        "inserts": [{"number": 2, "table": "t", "query": "t", "mode": "append", "columns": [column]}],
    }
    out = io.StringIO()
    Console(file=out, width=100).print(analysed(found))
    lines = [line.split() for line in out.getvalue().splitlines()]

    assert lines[1] == ["1", "1", "table", "t", "n", "bigint"]
    assert lines[-1] == ["t", "2", "t", "noop", "append"]
    out = io.StringIO()
    Console(file=out, width=100).print(analysed({**found, "inserts": []}))
    assert "no INSERT" in out.getvalue()


QUERY = {
    "query": "q",
    "connector": "postgresql",
    "batch": 7,
    "rows_in": 1200,
    "rows_per_second": 30.0,
    "batch_ms": 40,
    "lag": 5,
    "state_rows": None,
    "errors": 2,
    "retries": 31,
    "watermark": None,
}
PV = {
    "name": "pv",
    "kind": "sql",
    "owner": "mei",
    "description": "",
    "state": "running",
    "why": "",
    "since_ms": 0,
    "published": 2,
    "running_version": 2,
    "queries": [QUERY],
    "target": "",
    "look": "anabranch stream show pv",
}
LINK = {
    **PV,
    "name": "old-new",
    "kind": "link",
    "owner": "",
    "since_ms": None,
    "published": 0,
    "running_version": None,
    "target": "new",
    "look": "anabranch link show old-new --target new",
    "state": "degraded",
    "why": "1 lane",
}


def shown(made: Any) -> list[list[str]]:
    """The words of each line."""
    out = io.StringIO()
    Console(file=out, width=160).print(made)
    return [line.split() for line in out.getvalue().splitlines()]


def test_links_are_listed_beside_streams_with_where_to_look() -> None:
    """A link has no version and no time in its state; its owner is nobody, and its target is told."""
    lines = shown(render.streams([PV, LINK], 60_000))
    assert lines[1] == ["pv", "sql", "running", "1", "min", "2", "1", "30", "5", "mei"]
    assert lines[2] == ["old-new", "link", "degraded", "1", "30", "5", "to", "new"]
    assert " ".join(lines[3]).endswith("anabranch link show old-new --target new")
    words = [" ".join(line) for line in shown(render.stream({"stream": LINK, "runs": [], "checkpoints": ""}, 60_000))]
    assert (
        words[0] == "old-new: degraded, a link to new" and words[-1] == "more: anabranch link show old-new --target new"
    )


def test_a_query_is_shown_with_the_errors_and_retries_of_its_sink() -> None:
    """Beside what it reads; what is not known is a question mark."""
    lines = shown(render.stream({"stream": PV, "runs": [], "checkpoints": "/c"}, 60_000))
    assert lines[1][-3:] == ["ERRORS", "RETRIES", "WATERMARK"]
    assert lines[2] == ["q", "postgresql", "7", "1,200", "30", "40", "5", "?", "2", "31"]
