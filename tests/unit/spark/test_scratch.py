"""Temporary directories of a driver: gone once their owner is, and never while it lives."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from anabranch.spark import scratch
from anabranch.spark.scratch import ScratchDirectory, remove_abandoned
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

OWNER = """
import os, sys, tempfile
from anabranch.spark.scratch import ScratchDirectory
tempfile.tempdir = sys.argv[1]
made = ScratchDirectory("test")
(made.path / "within").mkdir()
print(made.path, flush=True)
sys.stdin.read()
made.remove()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def owner(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a directory, which ends with its input."""
    command = [sys.executable, "-c", OWNER, str(temporary)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.mark.test
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(temporary: Path) -> None:
    """Not by process ids: the dead one's may be another process's by now, and is none at all in another container."""
    with owner(temporary) as (dead, left), owner(temporary) as (living, kept):
        dead.kill()
        dead.wait()
        assert left.is_dir() and kept.is_dir()
        remove_abandoned()
        assert not left.exists() and (kept / "within").is_dir()
        living.communicate("")
        assert living.returncode == 0 and not kept.exists()


@pytest.mark.test
def test_a_process_that_the_owner_has_started_does_not_keep_it(temporary: Path) -> None:
    """A driver's JVM ends seconds after it."""
    made = ScratchDirectory("test")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child:
        remove_abandoned()
        assert made.path.is_dir()
        assert made._lock is not None
        made._lock.close()  # as the kernel does
        deadline = time.monotonic() + TIMEOUT_S
        while made.path.exists():  # a child has what its parent has until its own program begins
            assert time.monotonic() < deadline
            remove_abandoned()
        child.kill()


def test_what_is_nobody_s_or_another_s_stays(temporary: Path) -> None:
    """A directory that somebody else made, one that is being made, and a link that leads elsewhere."""
    half = temporary / f"{scratch.PREFIX}test-half"
    half.mkdir()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".owner").touch()
    (temporary / f"{scratch.PREFIX}test-link").symlink_to(elsewhere)
    remove_abandoned()
    assert half.is_dir() and (elsewhere / ".owner").exists()


@pytest.mark.parametrize("ended", [False, True], ids=["still removing", "has removed"])
def test_a_directory_that_is_taken_for_an_abandoned_one_as_it_is_made_is_made_again(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, ended: bool
) -> None:
    """Another driver starts between the making of the file and its lock."""
    lock, first = fcntl.flock, True

    def flock(file: Any, how: int) -> None:
        nonlocal first
        if first:
            first = False
            remove_abandoned()
            assert not list(temporary.iterdir())
            if not ended:
                raise BlockingIOError
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with ScratchDirectory("test") as made:
        assert made.path.is_dir() and not first
        remove_abandoned()
        assert made.path.is_dir()
    assert not list(temporary.iterdir())


def test_where_files_cannot_be_locked_nothing_is_removed(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    """The owner removes its directory itself, as ever; one that was killed leaves it."""

    def flock(file: Any, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with ScratchDirectory("test") as made:
        remove_abandoned()
        assert list(made.path.iterdir()) == []
    assert not list(temporary.iterdir())


def test_what_its_owner_s_jvm_wrote_meanwhile_is_the_next_driver_s_to_remove(
    monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    """The JVM of a killed driver ends with it, and may write a last file."""
    made = ScratchDirectory("test")
    assert made._lock is not None
    made._lock.close()
    remove = scratch.shutil.rmtree

    def rmtree(path: Path, **options: Any) -> None:
        remove(path, **options)
        path.mkdir()

    monkeypatch.setattr(scratch.shutil, "rmtree", rmtree)
    remove_abandoned()
    assert made.path.is_dir()
    monkeypatch.setattr(scratch.shutil, "rmtree", remove)
    remove_abandoned()
    assert not made.path.exists()
