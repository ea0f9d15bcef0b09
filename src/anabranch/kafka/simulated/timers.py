"""The clock of a simulated cluster: what the time is, and what happens later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from anabranch.model.clock import now_ms


class Timer(Protocol):
    """Something that will happen."""

    def cancel(self) -> None:
        """It will not, unless it has happened already."""


class Timers(Protocol):
    """A clock that can be asked to wake its owner; everything happens on one thread, one thing after the other."""

    def monotonic(self) -> float:
        """Seconds since some moment; never falls."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as the brokers' clocks have it."""

    def call_later(self, seconds: float, what: Callable[[], None]) -> Timer:
        """Do something after some seconds."""


class LoopTimers:
    """The clock of an event loop, and this machine's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def monotonic(self) -> float:
        """The loop's own time."""
        return self._loop.time()

    def wall_ms(self) -> int:
        """This machine's clock."""
        return now_ms()

    def call_later(self, seconds: float, what: Callable[[], None]) -> Timer:
        """Ask the loop."""
        return self._loop.call_later(seconds, what)
