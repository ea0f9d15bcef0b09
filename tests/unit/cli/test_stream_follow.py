"""What a verb exits with that starts a stream's job and stays with it, by how the job ends and what ends the verb."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import typer

from anabranch.cli.streams.local import follow
from anabranch.operations.jobs.outcome import JobFailedError
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.streams.events import StreamEvent, StreamEventKind

pytestmark = pytest.mark.unit

FILE = Path("numbers.sql")
STARTED, PROGRESS = {"event": "started"}, {"event": "progress", "rows_in": 3}
STOPPED = {"event": "ended", "outcome": "stopped", "exit_code": 0}
SIGNALS = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)


class Job:
    """A job that tells its events, and then ends; the verb gets a signal, if any, before the last event."""

    def __init__(
        self, log: Path, events: Sequence[dict[str, Any]], code: int, *, number: int = 0, says: str = ""
    ) -> None:
        self.log = log
        self.ends = 0
        self._events, self._code, self._number = events, code, number
        log.write_text(says)

    async def lines(self) -> AsyncIterator[str]:
        """What it prints; not all of it is an event."""
        yield "a warning of Java's\n"
        for at, event in enumerate(self._events):
            if self._number and at == len(self._events) - 1:
                os.kill(os.getpid(), self._number)
            yield json.dumps(event) + "\n"
        if self._number and not self._events:
            os.kill(os.getpid(), self._number)

    async def ended(self) -> int:
        """What it ends with."""
        return self._code

    async def stop(self) -> int:
        """It has ended."""
        return self._code

    def end(self, *, interrupted: bool = False) -> None:
        """It is asked to end."""
        assert interrupted == (self._number == signal.SIGINT)
        self.ends += 1


def followed(job: Job, begins: StreamEventKind | None = None) -> tuple[int, list[dict[str, Any]]]:
    """What the verb exits with, and the events that it was told."""
    told: list[dict[str, Any]] = []

    def tell(event: StreamEvent, line: str) -> None:
        assert json.loads(line) == event.fields and not line.endswith("\n")
        told.append(dict(event.fields))

    return asyncio.run(follow(lambda: cast(StartedJob, job), FILE, tell, begins)), told


def test_a_job_that_ends_by_itself_is_told_to_its_end(tmp_path: Path) -> None:
    """0, and each event once; nobody ends it."""
    events = [STARTED, PROGRESS, {**STOPPED, "outcome": "finished"}]
    job = Job(tmp_path / "log", events, 0)
    assert followed(job) == (0, events)
    assert job.ends == 0


@pytest.mark.parametrize("code", [2, 3, 4, 5])
@pytest.mark.parametrize("number", [0, signal.SIGTERM])
def test_a_job_that_failed_has_its_own_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: int, number: int
) -> None:
    """With the error that it told, and where in the script; also where the verb was told to end at that moment."""
    failed = {"event": "failed", "error": "no such table", "excerpt": "SELECT x\n       ^", "hint": "make it"}
    ended = {"event": "ended", "outcome": "failed", "exit_code": code}
    with pytest.raises(typer.Exit) as left:
        followed(Job(tmp_path / "log", [STARTED, {**failed, "exit_code": code}, ended], code, number=number))
    assert left.value.exit_code == code
    shown = [f"error: {FILE}: no such table", "    SELECT x", "           ^", "hint: make it"]
    assert capsys.readouterr().err.splitlines() == shown


@pytest.mark.parametrize("events", [[], [STARTED, PROGRESS]], ids=["as Spark starts", "as it runs"])
def test_a_job_that_is_killed_is_a_failure(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    """5: whoever killed it left no words, so its log is named."""
    log = tmp_path / "log"
    with pytest.raises(JobFailedError) as failed:
        followed(Job(log, events, -signal.SIGKILL, says="INFO something\n"))
    assert failed.value.exit_code == 5
    assert failed.value.message == f"the job of {FILE}: the job was killed by SIGKILL"
    assert failed.value.hint == f"read {log}"


def test_a_job_that_ends_without_an_event_has_the_last_error_of_its_log(tmp_path: Path) -> None:
    """It could not tell: its own code, and what it wrote last."""
    says = "error: Spark could not be started\nhint: look at Java\n"
    with pytest.raises(JobFailedError) as failed:
        followed(Job(tmp_path / "log", [], 2, says=says))
    assert failed.value.exit_code == 2
    assert "Spark could not be started" in failed.value.message and failed.value.hint == "look at Java"


@SIGNALS
def test_a_signal_while_queries_run_ends_them_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """0: the job is asked to end, once, and has said that it did."""
    job = Job(tmp_path / "log", [STARTED, PROGRESS, STOPPED], 0, number=number)
    assert followed(job) == (0, [STARTED, PROGRESS, STOPPED])
    assert job.ends == 1


@SIGNALS
@pytest.mark.parametrize("code", [-signal.SIGTERM, 0, 1])
@pytest.mark.parametrize("events", [[], [STARTED, PROGRESS]], ids=["as Spark starts", "as it runs"])
def test_a_signal_to_what_did_not_end_cleanly_is_that_of_any_program(
    tmp_path: Path, number: signal.Signals, code: int, events: list[dict[str, Any]]
) -> None:
    """130, 143 and 129, whatever the job ended with that did not say that it is over."""
    job = Job(tmp_path / "log", events, code, number=number)
    assert followed(job)[0] == 128 + number
    assert job.ends == 1


@SIGNALS
def test_a_job_that_is_killed_after_it_said_that_it_is_over_was_not_clean(
    tmp_path: Path, number: signal.Signals
) -> None:
    """It took too long to end."""
    assert followed(Job(tmp_path / "log", [STARTED, STOPPED], -signal.SIGKILL, number=number))[0] == 128 + number


@SIGNALS
@pytest.mark.parametrize(("code", "begins"), [(0, StreamEventKind.STARTED), (130, None)], ids=["a run", "a look"])
def test_a_signal_before_anything_was_done_is_that_of_any_program(
    tmp_path: Path, number: signal.Signals, code: int, begins: StreamEventKind | None
) -> None:
    """No query has run and no answer was given, though the job ended in order."""
    events = [{"event": "starting"}, {**STOPPED, "exit_code": code}]
    assert followed(Job(tmp_path / "log", events, code, number=number), begins)[0] == 128 + number


@SIGNALS
def test_a_signal_after_queries_were_started_ends_a_run_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """0, also before the first micro-batch."""
    job = Job(tmp_path / "log", [STARTED, STOPPED], 0, number=number)
    assert followed(job, StreamEventKind.STARTED)[0] == 0
