"""Positions by a map that was made from contents: exact, or refused where the map is unclear.

A position in a gap is that of the next copied record, so a gap before an unclear span is refused with it.
"""

from __future__ import annotations

from bisect import bisect_right

from anabranch.offsets import translate
from anabranch.offsets.align.gaps import Unclear
from anabranch.offsets.align.lane import Aligned
from anabranch.offsets.translate import Exact, Position


def to_target(aligned: Aligned, offset: int) -> Position | Unclear:
    """Where in the target a reader goes on that would read source offset ``offset`` next, or what it cannot pass."""
    unclear, ranges = aligned.unclear, aligned.ranges
    found = translate.to_target(ranges, offset)
    behind = bisect_right(unclear, offset, key=lambda one: one.source_from)
    if behind and offset < unclear[behind - 1].source_to:
        return unclear[behind - 1]
    if isinstance(found, Exact) and found.reason is not None and behind < len(unclear):
        following = ranges.find_source(offset) + 1
        if following >= len(ranges) or ranges[following].source >= unclear[behind].source_from:
            return unclear[behind]
    return found


def to_source(aligned: Aligned, offset: int) -> Position | Unclear:
    """Where in the source a reader goes on that would read target offset ``offset`` next, or what it cannot pass."""
    unclear, ranges = aligned.unclear, aligned.ranges
    found = translate.to_source(ranges, offset)
    behind = bisect_right(unclear, offset, key=lambda one: one.target_from)
    if behind and offset < unclear[behind - 1].target_to:
        return unclear[behind - 1]
    if isinstance(found, Exact) and found.reason is not None and behind < len(unclear):
        following = ranges.find_target(offset) + 1
        if following >= len(ranges) or ranges[following].target >= unclear[behind].target_from:
            return unclear[behind]
    return found
