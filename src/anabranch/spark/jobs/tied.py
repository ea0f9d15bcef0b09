"""A job's end of the tie to the command that started it (:mod:`anabranch.operations.jobs.jobprocess`)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from anabranch.config.jobsettings import DETACH, INTERRUPT

END_S = 60.0
"""How long a job may take to end cleanly once its command is gone."""
AGAIN_S = 0.5
_interrupted = threading.Event()


def end_with_command(end: Callable[[], None]) -> None:
    """Have ``end`` called, in a thread, where standard input ends and the job was not told to run on.

    It is called again and again until the process is over, and after ``END_S`` seconds that is killed: what ``end``
    stops may have just begun.
    """
    threading.Thread(target=_watch, args=(sys.stdin.fileno(), end), name="tie", daemon=True).start()


def terminate() -> None:
    """End this process as SIGTERM does."""
    os.kill(os.getpid(), signal.SIGTERM)


def name_of(number: int) -> str:
    """The name of the signal that ends this job: its command passes a terminal's Ctrl-C on as SIGTERM, and says so."""
    is_passed_on = number == signal.SIGTERM and _interrupted.is_set()
    return (signal.SIGINT if is_passed_on else signal.Signals(number)).name


def _watch(tie: int, end: Callable[[], None]) -> None:
    told = b""
    while read := os.read(tie, 64):
        told += read
        if told.endswith(INTERRUPT):
            _interrupted.set()
    if told == DETACH:
        return
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        end()
        time.sleep(AGAIN_S)
    os.kill(os.getpid(), signal.SIGKILL)
