"""A job's end of the tie to its command: when it ends with it, and when not."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from anabranch.config.jobsettings import DETACH
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.spark.jobs import tied

pytestmark = pytest.mark.unit


class Hung(Exception):
    """The process was killed."""


def watch(monkeypatch: pytest.MonkeyPatch, told: bytes) -> list[float]:
    """When the job was asked to end, after its command wrote this and went; it never does until it is killed."""
    now, asked = [0.0], []

    def sleep(seconds: float) -> None:
        now[0] += seconds

    def kill(_: int, number: int) -> None:
        assert number == signal.SIGKILL
        raise Hung

    monkeypatch.setattr(tied, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    monkeypatch.setattr(tied, "os", SimpleNamespace(read=os.read, kill=kill, getpid=os.getpid))
    reading, writing = os.pipe()
    os.write(writing, told)
    os.close(writing)
    try:
        tied._watch(reading, lambda: asked.append(now[0]))
    except Hung:
        asked.append(now[0])
    finally:
        os.close(reading)
    return asked


def test_a_job_whose_command_is_gone_is_asked_to_end_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it just began is ended, too; one that hangs is killed after a minute."""
    asked = watch(monkeypatch, b"")
    assert asked[:3] == [0.0, tied.AGAIN_S, 2 * tied.AGAIN_S]
    assert asked[-1] == tied.END_S


def test_a_job_that_was_let_go_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C of a verb that detaches."""
    assert watch(monkeypatch, DETACH) == []


@pytest.mark.test
def test_ctrl_c_of_the_command_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrives as SIGTERM, as all that ends a command does."""
    monkeypatch.setattr(tied, "_interrupted", threading.Event())
    watch(monkeypatch, b"")
    assert (tied.name_of(signal.SIGTERM), tied.name_of(signal.SIGINT)) == ("SIGTERM", "SIGINT")
    ignoring = ["sh", "-c", "trap '' TERM; echo; exec cat"]
    with subprocess.Popen(ignoring, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        assert job.stdout is not None and job.stdout.readline()
        StartedJob("run-1", Path("log"), job).end(interrupted=True)
        told = job.communicate()[0]
    watch(monkeypatch, told)
    assert tied.name_of(signal.SIGTERM) == "SIGINT"
