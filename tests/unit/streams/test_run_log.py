"""The log of a run of weeks: it is kept short while processes write to it, and read over its parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.operations.jobs.runlogs import KEPT_LOGS, make_room, open_log
from anabranch.streams import run_log
from anabranch.streams.lines import former
from anabranch.streams.run_log import RunLog, tail

pytestmark = pytest.mark.unit
TALK = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


@pytest.mark.test
def test_a_log_is_kept_short_under_a_process_that_goes_on_writing(tmp_path: Path) -> None:
    """What it writes afterwards is at the beginning; the newest lines are there, at most twice as many as fill it."""
    log = tmp_path / "run-1.log"
    kept = RunLog(log, full=100)
    with open_log(log) as file:
        command = [sys.executable, "-c", TALK]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file, text=True)
        assert child.stdin is not None
        size = 0
        for number in range(50):
            print(f"line {number:04}", file=child.stdin, flush=True)
            size = min(size, log.stat().st_size) + 10
            while log.stat().st_size < size:
                pass
            kept.keep_short()
            size = log.stat().st_size
            assert size <= 100
        child.stdin.close()
        assert child.wait() == 0
    found, is_cut = tail(log, 1000)
    lines = found.splitlines()
    assert lines == [f"line {number:04}" for number in range(50 - len(lines), 50)] and len(lines) > 10
    assert not is_cut and tail(log, 25) == (found[-25:], True)
    assert former(log).stat().st_mode & 0o777 == 0o600


def test_a_log_that_has_no_room_for_a_copy_is_emptied_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is twice as long as it may be."""

    def refuse(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(run_log.shutil, "copyfileobj", refuse)
    log = tmp_path / "run-1.log"
    kept = RunLog(log, full=100)
    log.write_bytes(b"x" * 200)
    kept.look()
    assert log.stat().st_size == 200
    log.write_bytes(b"x" * 201)
    kept.keep_short()
    assert log.stat().st_size == 0
    assert [one.name for one in tmp_path.iterdir()] == [log.name]


def test_a_log_is_only_that_which_this_process_writes(tmp_path: Path) -> None:
    """A terminal, or another file, is nobody's to empty."""
    log, other = tmp_path / "run-1.log", tmp_path / "other"
    assert RunLog.of(log) is None
    for path in (log, other):
        path.touch()
    with other.open() as file:
        assert RunLog.of(log, file.fileno()) is None
    with log.open() as file:
        assert RunLog.of(log, file.fileno()) is not None
    reading, writing = os.pipe()
    assert RunLog.of(log, writing) is None
    os.close(reading)
    os.close(writing)


def test_the_parts_of_an_old_log_go_together(tmp_path: Path) -> None:
    """Those of the newest runs stay."""
    for number in range(KEPT_LOGS + 1):
        log = tmp_path / f"run-{number}.log"
        for one in (log, former(log)):
            one.touch()
            os.utime(one, (number, number))
    make_room(tmp_path)
    left = {one.name for one in tmp_path.iterdir()}
    assert len(left) == 2 * (KEPT_LOGS - 1) and "run-1.log.1" not in left
