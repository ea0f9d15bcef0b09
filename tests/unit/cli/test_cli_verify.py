"""The verbs of ``verify``: which exit code says what, and what Ctrl-C does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from anabranch.cli import main as cli
from anabranch.cli import port
from anabranch.cli.verify.watch import follow
from anabranch.control.verified import NeverVerifiedError, RunState, VerifyRun, VerifyStatus
from anabranch.errors import AnabranchError
from anabranch.verify.report import Circumstances, report

pytestmark = pytest.mark.unit

RUN = VerifyRun("old-new", "verify-1", RunState.DONE, 1, 2001, 10, 10, 20, 200, 0, {}, {})
HOW = Circumstances("old-new", "verify-1", 1, 2001, ("old", "A"), ("new", "B"), "records", "both", 20, 200, {})


def made(verdict: str) -> dict[str, Any]:
    """A report with a verdict."""
    return {**report(HOW, [], {}), "verdict": verdict}


class Engine:
    """The engine's comparisons, answering one status or raising."""

    def __init__(self, answer: VerifyStatus | Exception) -> None:
        self.answer = answer

    def show(self, *_: object) -> VerifyStatus:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Run ``verify show`` against an engine; returns the exit code."""
    file = tmp_path / "contexts.yaml"
    file.write_text(yaml.safe_dump({"contexts": {"new": {"bootstrap": ["new:9092"]}}, "target": "new"}))

    def call(answer: VerifyStatus | Exception, *arguments: str) -> int:
        monkeypatch.setattr(port, "verify", lambda: Engine(answer))
        monkeypatch.setattr(
            sys, "argv", ["anabranch", "--contexts", str(file), "verify", "show", "old-new", *arguments]
        )
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0)

    return call


@pytest.mark.parametrize(("verdict", "code"), [("equal", 0), ("different", 1), ("unknown", 2)])
def test_show_exits_with_the_verdict(
    run: Callable[..., int], verdict: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0, 1 and 2, and the report and its page are written where they are wanted."""
    files = tmp_path / "report.json", tmp_path / "page.html"
    status = VerifyStatus(RUN, (), made(verdict), 3000)
    assert run(status, "--report", str(files[0]), "--page", str(files[1]), "-o", "json") == code
    assert json.loads(files[0].read_text())["verdict"] == verdict
    assert verdict in files[1].read_text()
    assert json.loads(capsys.readouterr().out)["report"]["verdict"] == verdict


def test_a_report_of_an_earlier_run_is_no_verdict_on_this_one(run: Callable[..., int]) -> None:
    """While a comparison runs there is no verdict, even if an earlier one said equal."""
    running = replace(RUN, run="verify-2", state=RunState.RUNNING)
    assert run(VerifyStatus(running, (), made("equal"), 3000)) == 2


@pytest.mark.parametrize(("error", "code"), [(NeverVerifiedError("old-new"), 3), (ZeroDivisionError(), 2)])
def test_no_error_exits_as_a_verdict_would(run: Callable[..., int], error: Exception, code: int) -> None:
    """Errors keep their codes, and a fault of ours does not say "different"."""
    assert run(error) == code
    assert not isinstance(error, AnabranchError) or error.exit_code == code


def test_ctrl_c_detaches() -> None:
    """Leaving the view asks nothing of the comparison."""
    asked = []

    def read() -> VerifyStatus:
        asked.append(1)
        return VerifyStatus(replace(RUN, state=RunState.RUNNING), (), None, 2001)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    console = Console(record=True, width=200)
    assert follow(read, None, console, sleep=interrupted) is None
    assert "the comparison goes on" in console.export_text()
    assert asked == [1]
