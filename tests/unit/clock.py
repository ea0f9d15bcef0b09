"""A clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Seconds; it stands until it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now
