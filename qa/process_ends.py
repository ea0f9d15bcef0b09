"""How soaks begin and end: a seed that is printed, and a SIGTERM that ends all that was started."""

from __future__ import annotations

import signal
import time
from types import FrameType


def interrupt_on_term() -> None:
    """Have SIGTERM end this program as Ctrl-C does, so that every process of the episode is ended."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def seed_of(asked: int | None) -> int:
    """The seed that was asked for, else one of the clock; episodes count up from it."""
    return asked if asked is not None else time.time_ns() // 1_000_000_000 * 1000
