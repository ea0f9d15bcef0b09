"""How the links of a migration share what they may read together.

Invariants
    T1  the shares are never more than the whole, as long as that is a byte a second for each link.
    T2  each link has its floor: ``FLOOR_RATE``, or the whole divided equally where that is less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FLOOR_RATE = 100_000
"""Bytes a second that a link has at least: lanes go on, and it is seen that they do, while it burdens no broker."""
_AHEAD = 1.25  # a link that has caught up may be given a little more than it copied, to stay so
_CATCH_UP_S = 60.0  # and catches up again within a minute
_ALIKE = 0.05  # a change of less is not worth another revision of a link


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What a link has still to copy, None where that is not known, and copies; ``is_copying``: it runs, not paused."""

    link: str
    lag_bytes: int | None
    bytes_a_second: float
    is_copying: bool = True

    @property
    def need(self) -> float | None:
        """Bytes a second with which it stays, or soon is, caught up; None where that is not known."""
        if self.lag_bytes is None:
            return None
        return _AHEAD * self.bytes_a_second + self.lag_bytes / _CATCH_UP_S


def least(whole: int, links: int) -> int:
    """The floor of one link."""
    return max(1, min(FLOOR_RATE, whole // max(1, links)))


def shared(whole: int, loads: Sequence[LinkLoad]) -> dict[str, int]:
    """The share of each link (T1, T2).

    One that does not copy has its floor, so that it begins with that.  Those with little to copy have what they need;
    the others share the rest by what they have still to copy.
    """
    if not loads:
        return {}
    floor = least(whole, len(loads))
    shares = {load.link: floor for load in loads}
    copying = [load for load in loads if load.is_copying]
    if not copying:
        return shares
    left = max(0, whole - floor * len(loads))
    equal = floor + left // len(copying)
    for load in copying:
        if load.need is not None and load.need <= equal:
            more = max(0, int(load.need) - floor)
            shares[load.link] += more
            left -= more
    behind = [load for load in copying if load.need is None or load.need > equal] or copying
    most = max((load.lag_bytes or 0 for load in behind), default=0)
    weights = {load.link: max(1, most if load.lag_bytes is None else load.lag_bytes) for load in behind}
    together = sum(weights.values())
    for link, weight in weights.items():
        shares[link] += left * weight // together
    return shares


def settled(before: Mapping[str, int | None], shares: Mapping[str, int], whole: int) -> dict[str, int]:
    """The shares, but those of before where all of them are nearly the same and not too much together."""
    kept = {link: rate for link in shares if (rate := before.get(link)) is not None}
    alike = all(link in kept and abs(kept[link] - rate) <= _ALIKE * rate for link, rate in shares.items())
    return kept if alike and sum(kept.values()) <= whole else dict(shares)
