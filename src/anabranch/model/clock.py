"""This machine's two clocks.

They are looked up at each call, so that whoever stands in for the machine (a simulation) is asked, and not whatever
clock was there when a module was imported.
"""

from __future__ import annotations

import time

DAY_MS = 24 * 3600 * 1000


def monotonic() -> float:
    """Seconds that never fall, from some moment on."""
    return time.monotonic()


def now_ms() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
