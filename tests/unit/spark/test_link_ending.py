"""How a link's job ends: two lines of text and the exit code of the error, never JSON and never a stack."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import UnreachableError
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import UnknownLinkError
from anabranch.spark.errors import SparkNotStartedError
from anabranch.spark.jobs import link_driver as link
from anabranch.spark.jobs.events import EventLog
from anabranch.spark.jobs.link_options import LinkOptions
from anabranch.spark.quickjvm import QuickJvm

pytestmark = pytest.mark.unit


class Looking:
    """A survey that finds the link, or fails."""

    def __init__(self, error: AnabranchError | None = None) -> None:
        self.error = error

    def look(self, within_s: float | None = None) -> bool:
        if self.error is not None:
            raise self.error
        return True


DELETED = Looking(UnknownLinkError("old-new", "new"))
TASK = """[STREAM_FAILED] Query terminated: Job aborted due to stage failure: Task 0 failed 4 times
Traceback (most recent call last):
  File "source.py", line 90, in read
anabranch.model.secrets.MissingSecretError: secret env:X: the environment variable is not set

\tat org.apache.spark.api.python.PythonRunner.read(PythonRunner.scala:100)
=== Streaming Query ==="""
JVM = "[STREAM_FAILED] Query [id = 1] terminated\n=== Streaming Query ===\nIdentifier: x"


@pytest.mark.parametrize(
    ("failure", "survey", "code", "words"),
    [
        (None, DELETED, 3, "was deleted while it ran; nothing more is copied"),
        (RuntimeError(JVM), DELETED, 3, "was deleted while it ran"),
        (RuntimeError(JVM), Looking(), 5, "the link's query ended: [STREAM_FAILED] Query [id = 1] terminated"),
        (RuntimeError(TASK), Looking(), 5, "query ended: secret env:X: the environment variable is not set"),
        (RuntimeError(JVM), Looking(UnreachableError("new", ("h:1: x",))), 5, "[STREAM_FAILED]"),
        (None, Looking(), 5, "Spark stopped it, and does not say why"),
    ],
)
def test_a_query_that_ends_by_itself_is_never_a_clean_stop(
    failure: Exception | None,
    survey: Any,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A link that was deleted is told as that, whoever noticed first."""

    def run(*_: object) -> int:
        raise link._ending(failure, survey, "old-new")

    found, said = _main(run, monkeypatch, capsys, tmp_path)
    assert found == code
    assert said[0].startswith("error: ") and words in said[0]
    assert [line.partition(":")[0] for line in said] == ["error", "hint"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SparkNotStartedError("spark://nowhere:7077", "it does not answer"), 2),
        (UnreachableError("old", ("h:1: no answer in time",)), 4),
        (ConnectionResetError(104, "reset"), 5),
    ],
)
def test_each_error_is_two_lines(
    error: Exception,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """What happened, and what to do."""

    def run(*_: object) -> int:
        raise error

    found, said = _main(run, monkeypatch, capsys, tmp_path)
    assert (found, [line.partition(":")[0] for line in said]) == (code, ["error", "hint"])


def test_a_fault_of_ours_is_told_though_its_traceback_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The terminal has events alone: without a line it would end there without a word."""

    def run(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    code, said = _main(run, monkeypatch, capsys, tmp_path)
    assert code == 1
    assert said[0].startswith("Traceback") and said[-2:] == [
        "error: a fault of Anabranch itself: ZeroDivisionError: by zero",
        f"hint: {link.JobFaultError('').hint}",
    ]


def test_ctrl_c_as_spark_starts_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The job exits as any program does."""

    def run(*_: object) -> int:
        raise KeyboardInterrupt

    assert _main(run, monkeypatch, capsys, tmp_path) == (130, [])


def _main(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> tuple[int, list[str]]:
    monkeypatch.setattr(link, "_run", run)
    ends = (ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",)))
    (tmp_path / "job.json").write_text(LinkJob("old-new", "run-1", *ends, 60.0).to_json())
    code = link.run(LinkOptions(tmp_path / "job.json"), EventLog(sys.stderr), QuickJvm(None))
    starting, *rest = capsys.readouterr().err.splitlines()
    assert "old-new: run-1 starts" in starting
    return code, rest
