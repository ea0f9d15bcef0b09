"""Ending a link's process, whenever the command that started it is ended."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from anabranch.cli.jobs import Tied
from anabranch.cli.links.run import stay
from anabranch.model.cluster import ClusterContext
from anabranch.operations.jobs import jobprocess, launcher, runlogs
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission

pytestmark = pytest.mark.unit


class Process:
    """A process in whose start the command is told to end."""

    code: int | None = None
    stdin = None

    def __init__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def poll(self) -> int | None:
        """Its exit code once it was told to end."""
        return self.code

    def terminate(self) -> None:
        """It ends cleanly."""
        self.code = 0


class Starting(Process):
    """One that has no handler yet: the signal kills it."""

    def terminate(self) -> None:
        self.code = -signal.SIGTERM


def stayed(start: Callable[[], Process]) -> int:
    """What the command exits with that starts this process and stays with it."""

    async def started() -> StartedJob:
        return StartedJob("run-1", Path("log"), cast(Any, start()))

    return asyncio.run(stay(started))


def test_a_link_that_is_ended_as_spark_starts_exits_as_any_program() -> None:
    """Neither "stopped cleanly" nor a fault: it had not begun."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert stayed(Starting) == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_link_whose_command_is_ended_as_it_starts_is_ended_too() -> None:
    """The signal may come before the process can be told: it would copy on with nobody there to end it."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert stayed(Process) == 0
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_that_ends_a_command_ends_its_link(number: int) -> None:
    """A terminal that is closed, too; the job is in a session of its own and hears of nothing by itself."""

    class Running(Process):
        def __init__(self) -> None:
            self.looks = 0

        def poll(self) -> int | None:
            self.looks += 1
            if self.looks == 1:
                os.kill(os.getpid(), number)
            assert self.looks < 50, "it runs on"
            return self.code

    before = signal.signal(number, lambda *_: None)
    try:
        assert stayed(Running) == 0
    finally:
        signal.signal(number, before)


def test_a_hangup_that_is_ignored_ends_no_job() -> None:
    """As nohup has it."""

    async def tied() -> None:
        async with Tied():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(tied())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_newest_logs_of_earlier_runs_are_kept(tmp_path: Path) -> None:
    """With their specifications; what is not a run's stays."""
    for number in range(15):
        for suffix in ("log", "json"):
            file = tmp_path / f"run-{number}.{suffix}"
            file.touch()
            os.utime(file, (number, number))
    (tmp_path / "notes.log").touch()
    runlogs.make_room(tmp_path)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"notes.log"} | {f"run-{n}.{suffix}" for n in range(6, 15) for suffix in ("log", "json")}


def test_what_a_run_uses_that_lives_is_kept(tmp_path: Path) -> None:
    """However many runs are newer: it holds its log, and its driver is in its directory."""
    for number in range(15):
        (tmp_path / f"run-{number}").mkdir()
        for suffix in ("log", "json"):
            file = tmp_path / f"run-{number}.{suffix}"
            file.touch()
            os.utime(file, (number, number))
    with runlogs.open_log(tmp_path / "run-1.log"):
        runlogs.make_room(tmp_path)
        assert {file.name for file in tmp_path.glob("run-1.*")} == {"run-1.log", "run-1.json"}
        assert (tmp_path / "run-1").is_dir() and not (tmp_path / "run-0").exists()
    runlogs.make_room(tmp_path)
    assert not list(tmp_path.glob("run-1.*")) and not (tmp_path / "run-1").exists()


def test_a_job_inherits_what_holds_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is the job's as soon as it is there, and not that of the command which started it."""
    inherited: list[tuple[int, ...]] = []

    def popen(*_: object, pass_fds: tuple[int, ...], **__: object) -> None:
        inherited.append(pass_fds)

    monkeypatch.setattr(jobprocess.subprocess, "Popen", popen)
    with runlogs.open_log(tmp_path / "run-1.log") as log:
        jobprocess.spawn(["x"], {}, None, out=None, err=None, tied=True, held=log)
        assert inherited == [(log.fileno(),)]


def test_a_directory_that_cannot_be_written_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its name; no traceback."""
    monkeypatch.setattr(launcher, "check", lambda _: None)
    (tmp_path / "file").touch()
    nodes = ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",))
    with pytest.raises(launcher.NoLogDirectoryError, match="Spark's log has no place"):
        launcher.start_link(*nodes, "l", Submission("local[1]"), 60, tmp_path / "file" / "l")
