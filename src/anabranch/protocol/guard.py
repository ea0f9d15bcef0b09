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
DEFAULT_EXPIRATION_MS = 86_400_000
"""``producer.id.expiration.ms`` of a broker that does not tell."""


@dataclass(frozen=True, slots=True)
class Strong:
    """Every timestamp that counts is younger than the expiration by more than an hour."""

    reason: str


@dataclass(frozen=True, slots=True)
class Weak:
    """The broker may forget the producer id while requests are under way."""

    reason: str


ProducerStateGuard: TypeAlias = Strong | Weak


def guard(expiration_ms: int, now_ms: int, timestamps: Iterable[int]) -> ProducerStateGuard:
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


def barred(by_coordinator: bool, expiration_ms: int | None, now_ms: int, oldest_ms: int | None) -> str:
    """Why a lane that never began may not keep offsets on its target cluster; empty where it may.

    ``expiration_ms`` is None where the target does not tell it, ``oldest_ms`` the timestamp of the first batch to copy,
    None where there is none.
    """
    if by_coordinator:
        return "identity needs ALTER on the target cluster, to fence a shared producer id"
    if expiration_ms is None:
        return "the target does not tell producer.id.expiration.ms (DescribeConfigs on the cluster)"
    strength = guard(expiration_ms, now_ms, [] if oldest_ms is None else [oldest_ms])
    return strength.reason if isinstance(strength, Weak) else ""


def _span(milliseconds: int) -> str:
    seconds = max(milliseconds, 0) // 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:,} {unit}"
    return f"{seconds} s"
