"""The sequence guard: whether the broker will still know a producer id when it matters.

A broker forgets a producer id when the *record* timestamp of its last batch is older than
``producer.id.expiration.ms``, whenever it checks and whenever it loads the log.  From then on it takes any
sequence.  Identity lanes stand on the guard; mapped lanes do not need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

MARGIN_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Strong:
    """Every timestamp that counts is younger than the expiration by more than an hour."""

    reason: str


@dataclass(frozen=True, slots=True)
class Weak:
    """The broker may forget the producer id while requests are under way."""

    reason: str


Guard: TypeAlias = Strong | Weak


def guard(expiration_ms: int, now_ms: int, timestamps: Iterable[int]) -> Guard:
    """Strong when every timestamp is above ``now_ms - expiration_ms`` plus one hour.

    ``timestamps`` are the maximum timestamps, in ms, of the batches in flight, about to be sent, and appended
    last; none at all is strong.  The hour is longer than a socket lives (``connections.max.idle.ms``), so that a
    request under way is executed or dead before its producer id can be forgotten.  The reason is a sentence.
    """
    oldest = min(timestamps, default=now_ms)
    if oldest > now_ms - expiration_ms + MARGIN_MS:
        return Strong(f"the target remembers the lane's producer id for {_span(oldest + expiration_ms - now_ms)} more")
    if expiration_ms <= MARGIN_MS:
        return Weak(f"the target forgets producer ids after {_span(expiration_ms)}, which leaves no margin of 1 h")
    return Weak(
        f"records are {_span(now_ms - oldest)} old and the target forgets producer ids after {_span(expiration_ms)}"
    )


def _span(milliseconds: int) -> str:
    seconds = max(milliseconds, 0) // 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
