"""``stream preview|validate`` that the service is asked: what is sent, what is written, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.service_client import ServiceClient, problem_error
from anabranch.cli.streams import trying
from anabranch.errors import AnabranchError

pytestmark = pytest.mark.unit

TRIAL: dict[str, Any] = {
    "id": "0" * 32,
    "kind": "preview",
    "state": "starting",
    "ahead": 0,
    "why": "",
    "now_ms": 90_000,
    "ended_at_ms": None,
    "is_cached": False,
    "limit": None,
    "selected": None,
    "columns": [],
    "row_count": 0,
    "rows": [],
    "problems": [],
    "tried": None,
}
COLUMNS = [{"name": "n", "type": "bigint"}]


class Answers:
    """A service that answers with these looks at a trial, in order, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.looks: list[dict[str, Any]] = []
        self.first: dict[str, Any] = {}
        self.got: dict[str, Any] = {}

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.asked.append(("POST", path, body))
        return TRIAL | self.first

    def get(self, path: str, **query: object) -> Any:
        self.asked.append(("GET", path, query))
        if path in self.got:
            return self.got[path]
        if not self.looks:
            raise KeyboardInterrupt
        return TRIAL | self.looks.pop(0)

    def delete(self, path: str) -> None:
        self.asked.append(("DELETE", path, None))


def _handed_to(asked: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *given, **more: asked(*given, **more)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answers:
    """The service, asked without a network."""
    made = Answers()
    for name in ("post", "get", "delete"):
        monkeypatch.setattr(ServiceClient, name, _handed_to(getattr(made, name)))
    monkeypatch.setattr(trying, "LOOK_S", 0.0)
    monkeypatch.setenv("ANABRANCH_TOKEN", "anb_token")
    monkeypatch.chdir(tmp_path)
    return made


def stream(*words: str) -> tuple[int, str, str]:
    """Run a verb; returns its exit code, and what it has written."""
    done = CliRunner().invoke(app, ["stream", *words])
    if isinstance(done.exception, AnabranchError):
        return done.exception.exit_code, done.stdout, f"{done.exception.message}\n{done.exception.hint}"
    return done.exit_code, done.stdout, done.stderr


def test_a_name_is_asked_of_the_service_and_rows_are_written_as_they_come(service: Answers) -> None:
    """Each look asks for the rows after those that it has, and nothing is started here."""
    service.looks = [
        {"columns": COLUMNS, "selected": 2, "rows": [[1], [2]], "row_count": 2},
        {"columns": COLUMNS, "rows": [[3]], "row_count": 3, "state": "finished", "limit": "seconds", "ended_at_ms": 1},
    ]
    code, out, err = stream(
        "preview", "pv-uv", "--version", "3", "--select", "2", "--from", "earliest", "--seconds", "5"
    )
    assert (code, out.split()) == (0, ["n", "1", "2", "3"])
    assert "3 rows came in 5 s" in err
    (_, path, body), *looks = service.asked
    assert path == "/trials" and body["stream"] == "pv-uv" and body["version"] == 3
    assert (body["kind"], body["select"], body["start"], body["seconds"]) == ("preview", 2, "earliest", 5.0)
    assert [query for _, _, query in looks] == [{"after": 0}, {"after": 2}]


def test_ctrl_c_ends_the_trial(service: Answers) -> None:
    """The service is told so, and the exit code is that of an interrupt."""
    assert stream("preview", "pv-uv")[0] == 130
    assert service.asked[-1] == ("DELETE", f"/trials/{'0' * 32}", None)


def test_an_earlier_answer_is_told_with_its_age(service: Answers) -> None:
    """And how to have a fresh one."""
    service.first = {"is_cached": True, "ended_at_ms": 30_000, "state": "finished"}
    service.looks = [{"columns": COLUMNS, "rows": [[1]], "state": "finished", "ended_at_ms": 30_000}]
    code, out, err = stream("preview", "pv-uv", "--log-format", "json")
    assert code == 0 and "60 s ago" in err and "--fresh" in err
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["columns", "rows", "ended"]


def test_what_is_wrong_is_written_with_its_line_and_exits_with_its_code(service: Answers) -> None:
    """As for a file that is looked at here."""
    problem = {"message": "statement 2, line 3, column 3: no table 'x'", "hint": "declare it", "exit_code": 2}
    problem |= {"excerpt": "  FROM x\n  ^"}
    service.looks = [
        {
            "state": "failed",
            "ended_at_ms": 1,
            "problems": [problem],
            "kind": "validation",
        }
    ]
    code, _, err = stream("validate", "pv-uv")
    assert code == 2
    assert err.splitlines() == [
        "error: pv-uv: statement 2, line 3, column 3: no table 'x'",
        "      FROM x",
        "      ^",
        "hint: declare it",
    ]


def test_a_trial_that_the_service_ended_is_refused(service: Answers) -> None:
    """With why."""
    service.looks = [{"state": "stopped", "why": "the service ends", "ended_at_ms": 1}]
    code, _, err = stream("preview", "pv-uv")
    assert code == 3 and "the service ends" in err


@pytest.mark.parametrize("words", [("--master", "local[1]"), ("--conf", "a=b"), ("--from", "@starts.yaml")])
def test_what_the_service_decides_is_not_taken(service: Answers, words: tuple[str, str]) -> None:
    """Settings of Spark, and files of this machine; nothing is asked."""
    code, _, err = stream("preview", "pv-uv", *words)
    assert code == 2 and words[0] in err and service.asked == []


def test_a_file_is_sent_where_a_service_is_named(service: Answers, tmp_path: Path) -> None:
    """Without one it would be looked at here."""
    file = tmp_path / "some.sql"
    file.write_text("SELECT 1", encoding="utf-8")
    service.looks = [{"state": "finished", "ended_at_ms": 1, "columns": COLUMNS}]
    assert stream("preview", str(file), "--service", "http://127.0.0.1:1")[0] == 0
    assert service.asked[0][2]["script"] == "SELECT 1"


def test_a_file_that_is_missing_is_no_stream(service: Answers) -> None:
    """A path, or a name that ends as scripts do."""
    for word in ("absent.sql", "some/absent"):
        code, _, err = stream("validate", word)
        assert code == 2 and word in err and service.asked == []


def test_a_refused_script_is_shown_with_its_line() -> None:
    """Where a plan is refused; an answer without a place has none."""
    place = {"statement": 2, "line": 3, "column": 3, "excerpt": "  FROM x\n  ^"}
    error = problem_error({"detail": "no table 'x'", "exit_code": 2, "place": place})
    assert error.message == "no table 'x'\n      FROM x\n      ^"
    assert problem_error({"detail": "no", "exit_code": 3, "place": None}).message == "no"


def test_a_saved_version_is_tried_on_the_checkpoints_of_its_stream(service: Answers) -> None:
    """``NAME@VERSION`` is asked of the service; where a query does not go on it exits with 3, and says why."""
    query = {"query": "q", "statement": 2, "line": 5, "result": "refused", "why": ["its key is text now"]}
    service.looks = [{"state": "finished", "tried": [query], "ended_at_ms": 1}]
    code, out, _ = stream("try", "pv-uv@3")
    assert (code, "its key is text now" in out) == (3, True)
    assert service.asked[0] == ("POST", "/trials", {"kind": "checkpoints", "stream": "pv-uv", "version": 3})
    service.looks = [{"state": "finished", "tried": [query | {"result": "fits"}], "ended_at_ms": 1}]
    assert stream("try", "pv-uv")[0] == 0
    code, _, err = stream("try", "pv-uv@3", "--version", "2")
    assert (code, "say it once" in err) == (2, True)
    code, _, err = stream("try", "pv-uv", "--checkpoints", "/tmp/c")
    assert (code, "--checkpoints" in err) == (2, True)
    Path("job.sql").write_text("SELECT 1")
    code, _, err = stream("try", "job.sql")
    assert (code, "--checkpoints" in err) == (2, True)


def test_tables_of_attached_catalogs_are_asked_of_spark(service: Answers) -> None:
    """Each with its catalog and database; what does not answer is told with its problem."""
    columns = [{"name": name, "type": "string"} for name in ("catalog", "database", "table", "problem")]
    rows = [["lake", "shop", "clicks", ""], ["db", "", "", "it is away"]]
    looked = {"columns": columns, "rows": rows, "row_count": 2, "state": "finished", "ended_at_ms": 1}
    service.looks = [dict(looked), dict(looked)]
    service.got["/catalog/attached"] = [{"name": "lake", "launcher": "default"}, {"name": "db", "launcher": "big"}]
    done = CliRunner().invoke(app, ["catalog", "list", "--attached"])
    assert done.exit_code == 0, done.exception
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["default", "lake", "shop", "clicks"] in lines and ["big", "lake", "shop", "clicks"] in lines
    assert "it is away" in done.stdout
    asked = {"kind": "tables", "rows": 1000, "fresh": False}
    posted = [one for one in service.asked if one[0] == "POST"]
    assert posted == [("POST", "/trials", {**asked, "launcher": name}) for name in ("default", "big")]
