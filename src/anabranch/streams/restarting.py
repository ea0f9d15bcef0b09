"""When a stream whose run has failed is started again: later each time, and not for ever.

Invariants
    B1  a stream is not started again earlier than its back-off says, nor more often than ``most`` times in a window.
    B2  what is told of the past decides alone: two who look at the same failures decide the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FIRST_MS = 5_000
LONGEST_MS = 300_000
WINDOW_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """At most ``most`` restarts in an hour; 0 for none."""

    most: int = 5

    def due_ms(self, failures: Sequence[int], now_ms: int) -> int | None:
        """When to start again after failures at these times (milliseconds); None where the budget is used up.

        The wait begins with ``FIRST_MS`` and doubles with each failure of the window, up to ``LONGEST_MS``.
        """
        counted = [at for at in failures if at > now_ms - WINDOW_MS]
        if not failures:
            return now_ms
        if len(counted) > self.most:
            return None
        wait = min(LONGEST_MS, FIRST_MS << min(max(len(counted) - 1, 0), 10))
        return max(failures) + wait
