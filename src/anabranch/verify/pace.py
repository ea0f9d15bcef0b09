"""How long a reader must wait to stay below a rate."""

from __future__ import annotations

import time
from collections.abc import Callable


class ReadPace:
    """A limit of bytes a second from now on; None for no limit.

    Bytes are counted after they were read, so a reader exceeds its rate by its last read at most.
    """

    __slots__ = ("_began", "_clock", "_rate", "bytes")

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._began = clock()
        self.bytes = 0

    def passed(self, size: int) -> float:
        """Count bytes that were read; returns the seconds to wait before the next read."""
        self.bytes += size
        if self._rate is None:
            return 0.0
        return max(0.0, self._began + self.bytes / self._rate - self._clock())
