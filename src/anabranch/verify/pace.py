"""How long one who reads must wait so that it stays below a rate."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Bytes a second from now on; None for as fast as can be.

    What was read is told after it was read, so a reader is ahead of its rate by the last of its reads at most.
    """

    __slots__ = ("_began", "_clock", "_rate", "bytes")

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._began = clock()
        self.bytes = 0

    def passed(self, size: int) -> float:
        """Take in bytes that were read; returns the seconds to wait before the next are."""
        self.bytes += size
        if self._rate is None:
            return 0.0
        return max(0.0, self._began + self.bytes / self._rate - self._clock())
