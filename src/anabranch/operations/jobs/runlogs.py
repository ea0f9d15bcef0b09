"""What runs of a link leave in a directory: a log each, the specification, and where the driver was started.

A run holds a lock on its log while it lives, of whatever process it is: so a run of weeks keeps its files, however many
were started since.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anabranch.errors import ConfigError

KEPT_LOGS = 10
"""Of earlier runs of a link in one directory."""
WORK = ".work"
"""Ends the name of a directory where a driver is started that finds there what is sent to executors."""


@dataclass(eq=False)
class NoLogDirectoryError(ConfigError):
    """The directory for Spark's log cannot be made or written."""

    directory: Path
    why: str
    how: str = "export XDG_STATE_HOME=DIRECTORY"

    _message = "Spark's log has no place: {directory}: {why}"
    _hint = "name a directory that you may write: {how}"


def make_room(directory: Path) -> None:
    """Have the directory, with the newest logs of runs and those of runs that live; raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    logs = sorted(directory.glob("run-*.log"), key=lambda log: log.stat().st_mtime, reverse=True)
    for log in logs[KEPT_LOGS - 1 :]:
        if not _lives(log):
            log.unlink(missing_ok=True)
            for end in (".json", ".log.1", ".events", ".events.1"):
                log.with_suffix(end).unlink(missing_ok=True)
            for end in ("", WORK):
                shutil.rmtree(log.with_suffix(end), ignore_errors=True)


def open_log(log: Path) -> BinaryIO:
    """The log of a new run, to append to; whoever inherits the file holds the lock.  Raises OSError."""
    file = os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_SH)
    return file


def lock_of(directory: Path, run: str) -> Path:
    """The file that a run's process holds on this machine while it lives, where its log may be read by others."""
    return directory / f"{run}.{socket.gethostname()}.lock"


def was_released(lock: Path) -> bool:
    """Whether a run has held this file and lives no more; not where that cannot be determined."""
    return lock.exists() and _is_held(lock) is False


def held_logs(directory: Path) -> Sequence[Path]:
    """The logs that runs hold for certain; their names are those of the runs."""
    return [log for log in sorted(directory.glob("run-*.log")) if _is_held(log) is True]


def _lives(log: Path) -> bool:
    """Whether a run holds its log; also where that cannot be determined."""
    return _is_held(log) is not False


def _is_held(log: Path) -> bool | None:
    """Whether a run holds its log; None where that cannot be determined."""
    try:
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
