"""Which persisted segments of a lane tell of nothing but records that both logs have deleted: those may be retired.

Retiring is persisting them as empty, by the lane's owner.  A segment is retired only where a later one begins at or
below the first offset of the source's log and at or below that of the target's: ranges rise on both sides, so all of
its own end there.  What stays of the map begins at or below both starts, and tells of every record that either log
still has.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.offsets import codec

MARKS = 32
"""Segments of a lane of which it is kept where they begin."""


class Starts(NamedTuple):
    """The first offsets of a lane's two logs, as their leaders told them; logs only lose more."""

    source: int
    target: int


class SegmentStarts:
    """Where some of a lane's stored segments begin, and from which number on there are any.

    Every ``stride``-th segment is noted, of any number of them ``MARKS`` at most: the memory does not grow with the
    lane's age, and a sixteenth of its map at most is retired late.  What a late request has stored again waits, too,
    until the owner holds none below the next segment that is noted.
    """

    __slots__ = ("_lowest", "_noted", "_stride")

    def __init__(self) -> None:
        self._lowest: int | None = None
        self._noted: dict[int, tuple[int, int]] = {}
        self._stride = 1

    def keep(self, number: int, stored: bytes) -> None:
        """A segment was stored; one that had been retired, by a late request, is to be retired again."""
        if self._lowest is None or number < self._lowest:
            self._lowest = number
        if number % self._stride:
            return
        self._noted[number] = codec.begins(stored)
        if len(self._noted) > MARKS:
            self._stride *= 2
            self._noted = {one: begin for one, begin in self._noted.items() if one % self._stride == 0}

    def drop(self, number: int) -> None:
        """A segment was stored as empty."""
        self._noted.pop(number, None)
        if number == self._lowest:
            self._lowest = number + 1

    def retirable(self, starts: Starts, held: int) -> range:
        """The numbers of the segments that may be retired; ``held`` is the first one that its owner holds."""
        if self._lowest is None:
            return range(0)
        until = self._lowest
        for number in sorted(self._noted):
            source, target = self._noted[number]
            if number > held or source > starts.source or target > starts.target:
                break
            until = number
        return range(self._lowest, max(self._lowest, until))

    def retired(self, until: int) -> None:
        """The segments below a number were persisted as empty."""
        self._lowest = until
        self._noted = {number: begin for number, begin in self._noted.items() if number >= until}
