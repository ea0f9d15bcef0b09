"""Ranges: spans of records that were copied without a gap on either side, and the map that they make.

    source offsets   100 101 102 103  |  gap: 104  |  105 106          run (100, 7, 4), run (105, 12, 2)
    target offsets     7   8   9  10  |  foreign: 11 |  12  13

A gap is a source offset that no record was copied from (a transaction marker, an aborted or compacted record, one
that the link filters).  A foreign offset of the target holds something that the lane did not write, or a marker.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anabranch.offsets.errors import RangeOrderError

MAX_OFFSET = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class MappedRange:
    """``length`` records, from offset ``source`` on in the source and from ``target`` on in the target.

    Invariant: both offsets are 0 or more, the length 1 or more, both ends at most 2^63 - 1; else ValueError.
    """

    source: int
    target: int
    length: int

    def __post_init__(self) -> None:
        if self.source < 0 or self.target < 0 or self.length < 1:
            raise ValueError(f"no range begins at ({self.source}, {self.target}) with length {self.length}")
        if max(self.source, self.target) + self.length > MAX_OFFSET:
            raise ValueError(f"the range ({self.source}, {self.target}, {self.length}) ends past 2^63 - 1")

    @property
    def source_end(self) -> int:
        """The source offset after the last record."""
        return self.source + self.length

    @property
    def target_end(self) -> int:
        """The target offset after the last record."""
        return self.target + self.length

    def continues(self, before: MappedRange) -> bool:
        """Whether this range begins where ``before`` ends, on both sides, so that the two are one."""
        return self.source == before.source_end and self.target == before.target_end


class OffsetMap:
    """The mapped ranges of one lane, in order: a value; every change returns a new map.

    ``source_start``, ``target_start``  where the lane began: nothing before them is known
    ``source_end``   every source record below is either in a range or was not copied for good
    ``target_end``   every target record below is either in a range or not the lane's; the next copy lands here or later

    Invariants (``is_sound``): ranges rise strictly on both sides without overlap, no range continues the one before it,
    all lie between the starts and the ends.

    A hundred thousand ranges take 2.4 MB.  Maps that come from one another share their arrays, which only grow:
    ``append`` is O(1) (a copy is made when two maps grow from the same one).  Not for two threads to append to at
    once.
    """

    __slots__ = (
        "_closed",
        "_last",
        "_lengths",
        "_sources",
        "_targets",
        "source_end",
        "source_start",
        "target_end",
        "target_start",
    )

    source_start: int
    target_start: int
    source_end: int
    target_end: int

    def __init__(self, source_start: int = 0, target_start: int = 0) -> None:
        """An empty map of a lane that begins at these offsets (0 or more, else ValueError)."""
        if not (0 <= source_start <= MAX_OFFSET and 0 <= target_start <= MAX_OFFSET):
            raise ValueError(f"no lane begins at ({source_start:,}, {target_start:,})")
        self.source_start = self.source_end = source_start
        self.target_start = self.target_end = target_start
        self._sources = array("q")
        self._targets = array("q")
        self._lengths = array("q")
        self._closed = 0
        """How many entries of the shared arrays are this map's; the last range is beside them, as it still grows."""
        self._last: MappedRange | None = None

    @classmethod
    def of(
        cls, ranges: Iterable[MappedRange], source_start: int | None = None, target_start: int | None = None
    ) -> OffsetMap:
        """Return a map of these ranges, which begins with the first of them unless told otherwise."""
        result: OffsetMap | None = None
        for mapped in ranges:
            if result is None:
                result = cls(
                    mapped.source if source_start is None else source_start,
                    mapped.target if target_start is None else target_start,
                )
            result = result.append(mapped)
        return cls(source_start or 0, target_start or 0) if result is None else result

    @classmethod
    def of_columns(
        cls, starts: tuple[int, int], sources: array[int], targets: array[int], lengths: array[int]
    ) -> OffsetMap:
        """Return a map of ranges that are known to be sound, on these arrays, which become its own."""
        result = cls(*starts)
        if sources:
            result._last = last = MappedRange(sources.pop(), targets.pop(), lengths.pop())
            result._sources, result._targets, result._lengths = sources, targets, lengths
            result._closed = len(sources)
            result.source_end, result.target_end = last.source_end, last.target_end
        return result

    @classmethod
    def joined(cls, maps: Sequence[OffsetMap]) -> OffsetMap:
        """Return one map of the ranges of maps that follow each other; raises RangeOrderError where they do not."""
        ranges = [one for one in maps if one]
        for before, after in pairwise(ranges):
            last, first = before[-1], after[0]
            if first.source < last.source_end:
                raise RangeOrderError("source", first.source, last.source_end)
            if first.target < last.target_end:
                raise RangeOrderError("target", first.target, last.target_end)
            if first.continues(last):
                return cls.of(mapped for one in ranges for mapped in one)
        columns = array("q"), array("q"), array("q")
        for one in ranges:
            for column, more in zip(columns, one.columns(), strict=True):
                column.extend(more)
        return cls.of_columns((columns[0][0], columns[1][0]) if ranges else (0, 0), *columns)

    def append(self, mapped: MappedRange) -> OffsetMap:
        """Return the map with one more run, joined with the last where it continues that one.

        Raises RangeOrderError unless the range begins at or after ``source_end`` and ``target_end``.
        """
        if mapped.source < self.source_end:
            raise RangeOrderError("source", mapped.source, self.source_end)
        if mapped.target < self.target_end:
            raise RangeOrderError("target", mapped.target, self.target_end)
        last = self._last
        if last is None:
            return self._with(self._closed, mapped)
        if mapped.continues(last):
            return self._with(self._closed, MappedRange(last.source, last.target, last.length + mapped.length))
        result = self._with(self._closed + 1, mapped)
        if len(self._sources) != self._closed:
            result._sources = self._sources[: self._closed]
            result._targets = self._targets[: self._closed]
            result._lengths = self._lengths[: self._closed]
        result._sources.append(last.source)
        result._targets.append(last.target)
        result._lengths.append(last.length)
        return result

    def extend(self, ranges: Iterable[MappedRange]) -> OffsetMap:
        """Return the map with these runs appended; raises RangeOrderError."""
        result = self
        for mapped in ranges:
            result = result.append(mapped)
        return result

    def advance(self, source_end: int, target_end: int) -> OffsetMap:
        """Return the map with later ends and no new run: gaps were passed, or foreign records seen.

        Raises RangeOrderError for an end before the present one.
        """
        if source_end < self.source_end:
            raise RangeOrderError("source", source_end, self.source_end)
        if target_end < self.target_end:
            raise RangeOrderError("target", target_end, self.target_end)
        if max(source_end, target_end) > MAX_OFFSET:
            raise ValueError(f"the map would end past 2^63 - 1, at ({source_end:,}, {target_end:,})")
        result = self._with(self._closed, self._last)
        result.source_end, result.target_end = source_end, target_end
        return result

    def truncate(self, target: int) -> OffsetMap:
        """Return the map of what is left after the target's log lost everything from ``target`` on.

        ``source_end`` falls to the end of what is left where the copy of a record was lost, and stays if none was: of
        the gaps behind it nothing is known any more, for what lies there may be read again.
        """
        if target >= self.target_end:
            return self
        kept = bisect_right(self._targets, target - 1, 0, self._closed)
        if self._last is not None and self._last.target < target:
            kept = self._closed + 1
        cut = self[kept - 1] if kept else None
        lost = kept < len(self)
        if cut is not None and cut.target_end > target:
            lost = True
            cut = MappedRange(cut.source, cut.target, target - cut.target)
        result = self._with(max(kept - 1, 0), cut)
        result.target_start = min(self.target_start, target)
        result.target_end = target
        if not lost:
            result.source_end = self.source_end
        else:
            result.source_end = self.source_start if cut is None else cut.source_end
        return result

    def inverse(self) -> OffsetMap:
        """Return the map of the way back: what were targets are sources."""
        sources, targets, lengths = self.columns()
        result = OffsetMap.of_columns((self.target_start, self.source_start), targets, sources, lengths)
        return result.advance(self.target_end, self.source_end)

    @property
    def last(self) -> MappedRange | None:
        """The newest run, None in an empty map."""
        return self._last

    @property
    def records(self) -> int:
        """How many records the ranges hold."""
        return sum(self._lengths[: self._closed]) + (self._last.length if self._last else 0)

    def find_source(self, offset: int) -> int:
        """Return the index of the last range that begins at or before a source offset; -1 for none."""
        if self._last is not None and offset >= self._last.source:
            return self._closed
        return bisect_right(self._sources, offset, 0, self._closed) - 1

    def find_target(self, offset: int) -> int:
        """Return the index of the last range that begins at or before a target offset; -1 for none."""
        if self._last is not None and offset >= self._last.target:
            return self._closed
        return bisect_right(self._targets, offset, 0, self._closed) - 1

    def columns(self) -> tuple[array[int], array[int], array[int]]:
        """Return copies of the ranges as three int64 arrays: sources, targets, lengths."""
        closed = self._closed
        result = (self._sources[:closed], self._targets[:closed], self._lengths[:closed])
        if self._last is not None:
            for column, number in zip(result, (self._last.source, self._last.target, self._last.length), strict=True):
                column.append(number)
        return result

    def is_sound(self) -> bool:
        """Whether the invariants hold; they do for every map that the methods here make."""
        ranges = list(self)
        first, last = (ranges[0], ranges[-1]) if ranges else (None, None)
        return (
            all(
                after.source >= before.source_end and after.target >= before.target_end and not after.continues(before)
                for before, after in pairwise(ranges)
            )
            and (first is None or (first.source >= self.source_start and first.target >= self.target_start))
            and (last is None or (last.source_end <= self.source_end and last.target_end <= self.target_end))
            and 0 <= self.source_start <= self.source_end <= MAX_OFFSET
            and 0 <= self.target_start <= self.target_end <= MAX_OFFSET
        )

    def __len__(self) -> int:
        return self._closed + (self._last is not None)

    def __bool__(self) -> bool:
        return self._last is not None

    def __getitem__(self, index: int) -> MappedRange:
        if index < 0:
            index += len(self)
        if 0 <= index < self._closed:
            return MappedRange(self._sources[index], self._targets[index], self._lengths[index])
        if index == self._closed and self._last is not None:
            return self._last
        raise IndexError(index)

    def __iter__(self) -> Iterator[MappedRange]:
        for index in range(self._closed):
            yield MappedRange(self._sources[index], self._targets[index], self._lengths[index])
        if self._last is not None:
            yield self._last

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetMap):
            return NotImplemented
        return self._bounds() == other._bounds() and self.columns() == other.columns()

    def __hash__(self) -> int:
        return hash((self._bounds(), len(self), self._last))

    def __repr__(self) -> str:
        return (
            f"<OffsetMap of {len(self)} ranges, source {self.source_start} to {self.source_end}, "
            f"target {self.target_start} to {self.target_end}>"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._bounds(), self.columns())

    def _bounds(self) -> tuple[int, int, int, int]:
        return self.source_start, self.target_start, self.source_end, self.target_end

    def _with(self, closed: int, last: MappedRange | None) -> OffsetMap:
        """Return a map on the same arrays that sees ``closed`` of their entries and ``last``."""
        result = OffsetMap.__new__(OffsetMap)
        result.source_start, result.target_start = self.source_start, self.target_start
        result.source_end = self.source_end if last is None else max(last.source_end, self.source_end)
        result.target_end = self.target_end if last is None else max(last.target_end, self.target_end)
        result._sources, result._targets, result._lengths = self._sources, self._targets, self._lengths
        result._closed = closed
        result._last = last
        return result


def _restore(bounds: tuple[int, int, int, int], columns: tuple[array[int], array[int], array[int]]) -> OffsetMap:
    """Rebuild a pickled map."""
    source_start, target_start, source_end, target_end = bounds
    ranges = (MappedRange(*numbers) for numbers in zip(*columns, strict=True))
    return OffsetMap(source_start, target_start).extend(ranges).advance(source_end, target_end)
