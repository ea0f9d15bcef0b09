"""Questions to a map: where does a reader go on, and where is a record, on the other side.

**Positions** (``to_target``, ``to_source``).  An offset is the next record to read: a reader at ``o`` has read
everything below ``o`` and nothing else.  The answer is the position on the other side from which it sees exactly the
copied records that it has not read:

    to_target(o) = the target offset of the first copied record whose source offset is >= o
    to_source(o) = the source offset of the first copied record whose target offset is >= o

and where no such record was copied yet, but all below ``o`` is accounted for: the end of the map on the other side,
at or after which the next copy will lie.  So a position in a gap is as exact as any other; the answer then
carries the reason why the offset itself has no counterpart.  Outside of what the map accounts for there is no
position: ``Before`` its start, or ``After`` its end.

**Records** (``record_to_target``, ``record_to_source``).  The very record at an offset: its counterpart, or
``Unmapped`` with the nearest copied records around it.

Laws, for a map ``m`` (property-tested against a dictionary of single records):
a copied record's position and the record itself get the same answer; both directions undo each other on copied
records; both are monotonic; ``to_source(to_target(o)) >= o`` with only gaps between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from anabranch.offsets.offset_map import OffsetMap


class NoRecord(Enum):
    """Why an offset has no record of its own on the other side; the value is for people."""

    GAP = (
        "no record was copied from this source offset: "
        "it is a transaction marker, an aborted or compacted record, or filtered by the link"
    )
    FOREIGN = "the lane did not write this target offset: it is a marker, or another writer's record"
    END = "everything before was copied, and the record here was not yet"


@dataclass(frozen=True, slots=True)
class Copied:
    """A record that exists on both sides."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Exact:
    """The offset on the other side; ``reason`` is set where the asked offset itself has no counterpart."""

    offset: int
    reason: NoRecord | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """The offset is older than anything that the lane copied.

    ``start`` is the first offset of the asked side that the map accounts for, ``translated`` its position on the
    other side.
    """

    start: int
    translated: int


@dataclass(frozen=True, slots=True)
class After:
    """The offset was not reached yet.

    ``end`` is the last offset of the asked side that has a position, ``translated`` that position on the other.
    """

    end: int
    translated: int


@dataclass(frozen=True, slots=True)
class Unmapped:
    """There is no such record on the other side, for ``reason``; the nearest that are, where there are any."""

    reason: NoRecord
    below: Copied | None
    above: Copied | None


Position = Exact | Before | After
Answer = Exact | Before | After | Unmapped


def to_target(ranges: OffsetMap, offset: int) -> Position:
    """Return where in the target a reader goes on that would read source offset ``offset`` next."""
    if offset < ranges.source_start:
        return Before(ranges.source_start, _next_target(ranges, 0))
    if offset > ranges.source_end:
        return After(ranges.source_end, ranges.target_end)
    index = ranges.find_source(offset)
    if index >= 0:
        mapped = ranges[index]
        if offset < mapped.source_end:
            return Exact(offset - mapped.source + mapped.target)
    if offset == ranges.source_end:
        return Exact(ranges.target_end, NoRecord.END)
    return Exact(_next_target(ranges, index + 1), NoRecord.GAP)


def to_source(ranges: OffsetMap, offset: int) -> Position:
    """Return where in the source a reader goes on that would read target offset ``offset`` next.

    In a foreign span that is the next copied record: source records in the gap before it, if the link
    filters them, are not shown to a reader who never saw their like.
    """
    if offset < ranges.target_start:
        return Before(ranges.target_start, _next_source(ranges, 0))
    if offset > ranges.target_end:
        return After(ranges.target_end, ranges.source_end)
    index = ranges.find_target(offset)
    if index >= 0:
        mapped = ranges[index]
        if offset < mapped.target_end:
            return Exact(offset - mapped.target + mapped.source)
    if offset == ranges.target_end:
        return Exact(ranges.source_end, NoRecord.END)
    return Exact(_next_source(ranges, index + 1), NoRecord.FOREIGN)


def record_to_target(ranges: OffsetMap, offset: int) -> Answer:
    """Return where in the target the record at source offset ``offset`` is."""
    position = to_target(ranges, offset)
    if not isinstance(position, Exact) or position.reason is None:
        return position
    if position.reason is NoRecord.END:
        return After(ranges.source_end, ranges.target_end)
    return _unmapped(ranges, ranges.find_source(offset), position.reason)


def record_to_source(ranges: OffsetMap, offset: int) -> Answer:
    """Return where in the source the record at target offset ``offset`` came from."""
    position = to_source(ranges, offset)
    if not isinstance(position, Exact) or position.reason is None:
        return position
    if position.reason is NoRecord.END:
        return After(ranges.target_end, ranges.source_end)
    return _unmapped(ranges, ranges.find_target(offset), position.reason)


def _next_target(ranges: OffsetMap, index: int) -> int:
    return ranges[index].target if index < len(ranges) else ranges.target_end


def _next_source(ranges: OffsetMap, index: int) -> int:
    return ranges[index].source if index < len(ranges) else ranges.source_end


def _unmapped(ranges: OffsetMap, index: int, reason: NoRecord) -> Unmapped:
    """Return the refusal for an offset between run ``index`` and the one after it."""
    below = above = None
    if index >= 0:
        mapped = ranges[index]
        below = Copied(mapped.source_end - 1, mapped.target_end - 1)
    if index + 1 < len(ranges):
        mapped = ranges[index + 1]
        above = Copied(mapped.source, mapped.target)
    return Unmapped(reason, below, above)
