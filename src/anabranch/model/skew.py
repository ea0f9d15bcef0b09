"""How far one clock is from another one, as far as a question and its answer tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """How far the clock here is ahead of another one, in ms: between ``least_ms`` and ``most_ms``, negative if behind.

    Invariant: what it is lies between both, and ``most_ms - least_ms`` is how long the question took, and 2.
    """

    least_ms: int
    most_ms: int

    @property
    def at_least_ms(self) -> int:
        """How far they are apart at the least, whichever is ahead."""
        return max(self.least_ms, -self.most_ms, 0)

    @property
    def is_ahead(self) -> bool:
        """Whether it is the clock here that is ahead."""
        return self.least_ms + self.most_ms > 0

    @property
    def within_ms(self) -> int:
        """How exactly it is known."""
        return self.most_ms - self.least_ms


def skew(asked_ms: int, told_ms: int, answered_ms: int) -> ClockSkew:
    """What follows from a clock that told a time between a question and its answer, all in whole ms, cut off."""
    return ClockSkew(asked_ms - told_ms - 1, answered_ms + 1 - told_ms)
