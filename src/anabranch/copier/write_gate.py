"""Whether bytes may leave now: asked in the last line before every write (LANE protocol, R6).

The gate is open only for a while after the worker last read the link's wanted state and the claims, so that a
process that was stopped and goes on writes nothing before it has read them again.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.model.clock import monotonic

HOLD_SECONDS = 5.0


class WriteGate:
    """Open until ``HOLD_SECONDS`` after the last ``renew``, unless paused; with a rate of bytes a second."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._allowance = 0.0
        self._counted_at = clock()
        self.paused = False
        self.rate: float | None = None

    def renew(self, read_started: float) -> None:
        """The control topics were read, beginning at ``read_started`` on this clock."""
        self._until = max(self._until, read_started + HOLD_SECONDS)

    def shut(self) -> None:
        """Nothing leaves any more, until ``renew``."""
        self._until = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether the control topics were read lately: what this process believes may be told to others."""
        return self._clock() < self._until

    @property
    def is_open(self) -> bool:
        """Whether a write may start this instant."""
        return not self.paused and self.is_fresh

    def take(self, size: int) -> float:
        """Count ``size`` bytes as sent; the seconds to wait before the next write."""
        if self.rate is None:
            return 0.0
        now = self._clock()
        burst = self.rate / 4
        self._allowance = min(burst, self._allowance + (now - self._counted_at) * self.rate) - size
        self._counted_at = now
        return max(0.0, -self._allowance / self.rate)
