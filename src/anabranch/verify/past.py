"""What a lane's target holds past the pin when the comparison ends: the lane's own records, and those of others.

The link may go on copying while both sides are compared, so the target's cleaner may take a record of the pin for a
later one past it.  That is an excuse only if the link wrote the later one.  And behind all that the link wrote nothing
may follow.  The map as it is at the end tells the link's records; of batches that it does not tell of yet the producer
id does: a lane's producer ids are its own, and it copies in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.verify.findings import NOWHERE
from anabranch.verify.pins import Pin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

UNTOLD = -2
"""The place of a record of which nothing tells whether the lane copied it."""


class PastBatch(NamedTuple):
    """A batch of the target behind the last range of the map; ``last`` is included."""

    first: int
    last: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class PastPin:
    """One lane past its pin.

    ``ranges`` has a place for each record that the lane has on the target past the pin.  Where ``is_told`` is False it
    is not known what the lane copied there, with ``reason``.  ``foreign`` are ranges [from, to) of target offsets
    behind the lane's last range that others wrote.
    """

    pin: Pin
    ranges: OffsetMap
    is_told: bool = True
    reason: str = ""
    foreign: tuple[tuple[int, int], ...] = ()


def nothing_past(pin: Pin) -> PastPin:
    """A lane whose target's log ends with the pin."""
    return PastPin(pin, pin.ranges)


def untold(pin: Pin, reason: str = "") -> PastPin:
    """A lane of which the pin's own map is all that is known."""
    return PastPin(pin, pin.ranges, is_told=False, reason=reason)


def tail_start(pin: Pin, ranges: OffsetMap) -> int:
    """The target offset from which on the map of the comparison's end tells of no record, and which is not pinned."""
    return max(pin.target_to, ranges.target_start if ranges.last is None else ranges.last.target_end)


def past(pin: Pin, ranges: OffsetMap, batches: Iterable[PastBatch]) -> PastPin:
    """A lane by its map of the comparison's end, and by the data batches from ``tail_start`` on, in order.

    The lane's own batches are given the source offsets that follow, as if there were no gaps.
    """
    start = tail_start(pin, ranges)
    foreign: list[tuple[int, int]] = []
    for batch in batches:
        if batch.is_own:
            first = max(batch.first, ranges.target_end)
            if first <= batch.last:
                ranges = ranges.append(MappedRange(ranges.source_end, first, batch.last + 1 - first))
            continue
        first = max(batch.first, start)
        if foreign and foreign[-1][1] == first:
            foreign[-1] = (foreign[-1][0], batch.last + 1)
        elif first <= batch.last:
            foreign.append((first, batch.last + 1))
    return PastPin(pin, ranges, foreign=tuple(foreign))


def places(known: PastPin, offsets: Longs, of_target: bool) -> Longs:
    """The offset on the other side of each record that the lane copied; NOWHERE of others, and UNTOLD.

    ``of_target``: the offsets are the target's.
    """
    import numpy as np

    from anabranch.offsets.bulk import to_source_bulk, to_target_bulk

    translate = to_source_bulk if of_target else to_target_bulk
    inside, _ = translate(known.pin.ranges, offsets, records=True)
    beyond, _ = translate(known.ranges, offsets, records=True)
    if not known.is_told:
        beyond = np.where(beyond == NOWHERE, UNTOLD, beyond)
    end = known.pin.target_to if of_target else known.pin.source_to
    there: Longs = np.where(offsets < end, inside, beyond)
    return there


def doubt_of(known: PastPin, absent: int) -> str:
    """Why the lane cannot be called equal, empty if it can.

    ``absent`` records are gone from the target, and records past the pin may excuse them or not.
    """
    if known.reason:
        return f"what lies on the target from offset {known.pin.target_to:,} on cannot be determined: {known.reason}"
    if not absent:
        return ""
    return (
        f"{absent:,} records are absent from the target; later records of their keys lie past the pin, from target "
        f"offset {known.pin.target_to:,} on, and nothing tells whether they are copies"
    )
