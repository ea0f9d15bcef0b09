"""Ending a link's process, whenever the command that started it is ended."""

import os
import signal
from typing import Any, cast

import pytest

from anabranch.engine import launcher

pytestmark = pytest.mark.unit


class Process:
    """A process in whose start the command is told to end."""

    code: int | None = None

    def __init__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def poll(self) -> int | None:
        """Its exit code once it was told to end."""
        return self.code

    def terminate(self) -> None:
        """It ends cleanly."""
        self.code = 0

    def wait(self, _timeout: float | None = None) -> int:
        """What it has ended with; 1 where it would run on."""
        return 1 if self.code is None else self.code


class Starting(Process):
    """One that has no handler yet: the signal kills it."""

    def terminate(self) -> None:
        self.code = -signal.SIGTERM


def test_a_link_that_is_ended_as_spark_starts_exits_as_any_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither "stopped cleanly" nor a fault: it had not begun."""
    monkeypatch.setattr(launcher, "start_link", lambda *_, **__: Starting())
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        nobody = cast(Any, None)
        assert launcher.run_link(nobody, nobody, "l", "local[1]", 60) == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_link_whose_command_is_ended_as_it_starts_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal may come before the process can be told: it would copy on with nobody there to end it."""
    monkeypatch.setattr(launcher, "start_link", lambda *_, **__: Process())
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        nobody = cast(Any, None)
        assert launcher.run_link(nobody, nobody, "l", "local[1]", 60) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
