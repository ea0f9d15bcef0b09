"""The newest mapped ranges of one lane while it is being copied, and what of them must be persisted.

Ranges are an index of the target's log, not the truth (LANE protocol, section 3, step 7): they are persisted behind
the data, and completed from the log's headers by the next owner.  Old ranges are sealed in segments that are never
written again, so persisting costs the same however long the lane grows.

A worker holds the newest ``HELD`` segments of a lane and no older ones, so that its memory does not grow with the
lanes' ages.  What lies below is in the control topic, and is read where a target lost that much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sized

from anabranch.errors import AnabranchError
from anabranch.offsets import codec
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.codecs import ranges as range_codec

SEGMENT_RANGES = 1000
HELD = 4
"""Segments of a lane that a worker holds; a late request of an earlier owner is noticed in these."""


class OlderRangesError(AnabranchError):
    """What is asked for lies below the ranges that are held: the lane's whole map must be read from the control
    topic.
    """

    retryable = True

    _message = "older mapped ranges of the lane are needed than this worker holds"


def is_full(ranges: Sized) -> bool:
    """Whether a segment holds as many ranges as it may: none below a lane's last one has fewer."""
    return len(ranges) == SEGMENT_RANGES


def in_order(segments: Mapping[int, tuple[MappedRange, ...]]) -> list[MappedRange]:
    """The mapped ranges of numbered segments, one behind the other; nothing is checked."""
    return [mapped for number in sorted(segments) for mapped in segments[number]]


class Segments(MutableMapping[int, tuple[MappedRange, ...]]):
    """The stored segments of a lane, by their numbers, kept as bytes; of more than ``held`` the oldest are left out.

    As ranges they would take forty times as much memory.  Of a segment's values, taken in the order of their topic, the
    one of the latest owner is kept.
    """

    __slots__ = ("_held", "_stored", "is_short", "overwritten")

    def __init__(self, held: int | None = None) -> None:
        self._stored: dict[int, bytes] = {}
        self._held = held
        self.is_short = False
        """Whether some were left out: after a cut it may be those that are the newest now."""
        self.overwritten: frozenset[int] = frozenset()
        """Segments of which the topic's last value is an earlier owner's: compaction would leave that one."""

    def __getitem__(self, number: int) -> tuple[MappedRange, ...]:
        return tuple(self.map(number))

    def __setitem__(self, number: int, ranges: tuple[MappedRange, ...]) -> None:
        self.keep(number, codec.encode(OffsetMap.of(ranges)))

    def __delitem__(self, number: int) -> None:
        del self._stored[number]
        self.overwritten -= {number}

    def __iter__(self) -> Iterator[int]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def discard(self, number: int) -> None:
        """A segment is forgotten, if it is there."""
        if number in self._stored:
            del self[number]

    def map(self, number: int) -> OffsetMap:
        """A segment as a map."""
        return codec.decode(range_codec.owned(self._stored[number])[1])

    def stored(self, number: int) -> bytes:
        """A segment's ranges as bytes; none where it is not there."""
        return range_codec.owned(self._stored.get(number, b""))[1]

    @property
    def epoch(self) -> int:
        """The latest owner epoch of all segments that are held."""
        return max((range_codec.owned(value)[0] for value in self._stored.values()), default=0)

    def begins(self, number: int) -> tuple[int, int]:
        """The source and the target offset at which a segment begins."""
        return codec.begins(range_codec.owned(self._stored[number])[1])

    def keep(self, number: int, value: bytes) -> None:
        """Take a segment's value, whose checksum is right; one of an earlier owner than the one before it came late."""
        before = self._stored.get(number)
        if before is not None and range_codec.owned(value)[0] < range_codec.owned(before)[0]:
            self.overwritten |= {number}
            return
        if number in self.overwritten:
            self.overwritten -= {number}
        self._stored[number] = value
        if self._held is not None and len(self._stored) > self._held:
            del self[min(self._stored)]
            self.is_short = True


def _map(segments: Mapping[int, tuple[MappedRange, ...]], number: int) -> OffsetMap:
    return segments.map(number) if isinstance(segments, Segments) else OffsetMap.of(segments[number])


class OffsetMapIndex:
    """A lane's newest ranges, from segment ``first`` on, with the segments that were changed since they were last
    persisted.

    Invariant: ``map`` begins with the first range of segment ``first``, and each segment below the last holds
    ``SEGMENT_RANGES`` ranges.  Sealed segments are encoded once; of the last one only what is new.
    """

    __slots__ = ("_dirty", "_sealed", "_top", "_under_way", "_writer", "first", "map")

    def __init__(self, ranges: Iterable[MappedRange] | OffsetMap = (), first: int = 0) -> None:
        self.map = ranges if isinstance(ranges, OffsetMap) else OffsetMap.of(ranges)
        self.first = first
        self._dirty: set[int] = set()
        self._under_way: set[int] = set()
        self._sealed: dict[int, bytes] = {}
        self._writer: codec.Writer | None = None
        self._top = self._last
        """The highest segment that may have been persisted: a cut leaves empty ones below it, to be forgotten."""

    @classmethod
    def of_segments(cls, segments: Mapping[int, tuple[MappedRange, ...]]) -> OffsetMapIndex:
        """The book that was persisted as numbered segments; raises RangeOrderError.

        It begins behind the last segment that is missing or has too few ranges: it was retired, or an older one was
        stored late.  The numbers of those behind it stay what they are.
        """
        if not segments:
            return cls()
        maps = {number: _map(segments, number) for number in sorted(segments)}
        first = max(maps)
        while first - 1 in maps and is_full(maps[first - 1]):
            first -= 1
        if first > min(maps):
            OffsetMap.joined(list(maps.values()))  # they may contradict each other
        return cls(OffsetMap.joined([one for number, one in maps.items() if number >= first]), first)

    @property
    def last(self) -> MappedRange | None:
        """The newest range."""
        return self.map.last

    def append(self, mapped: MappedRange) -> None:
        """Add what was appended next; raises RangeOrderError."""
        before, ranges = self.map.last, len(self.map)
        self.map = self.map.append(mapped) if before is not None else OffsetMap.of([mapped])
        if before is not None and len(self.map) > ranges:
            self._close(before, ranges)
        self._dirty.add(self._last)
        self._top = max(self._top, self._last)

    def cut(self, target_end: int) -> None:
        """Forget what lies at or above a target offset: the target's log was truncated there.

        Raises OlderRangesError where nothing that is held would be left.
        """
        if self.map.last is None or self.map.last.target_end <= target_end:
            return
        if self.first and target_end <= self.map[0].target:
            raise OlderRangesError
        self.map = self.map.truncate(target_end)
        self._writer = None
        self._sealed = {number: stored for number, stored in self._sealed.items() if number < self._last}
        self._dirty |= set(range(self._last, self._top + 1))

    def unpersisted(self) -> list[tuple[int, bytes]]:
        """The segments that changed since ``persisted`` was last called, with their numbers; empty ones are gone."""
        return [(number, self._stored(number)) for number in sorted(self._dirty)]

    def persisted(self) -> None:
        """Say that ``unpersisted`` is being written; what is appended from now on is persisted the next time."""
        self._under_way, self._dirty = self._dirty, set()

    def is_as_persisted(self, number: int, stored: bytes) -> bool:
        """Whether a stored segment is what this book last persisted, or will be persisted again soon in any case.

        Older segments than are held count as such: nobody has a request under way for that long.
        """
        return number in self._dirty or number < self.first or self._stored(number) == stored

    def is_within(self, number: int, stored: bytes) -> bool:
        """Whether a stored segment tells all that this book does of it, and perhaps more."""
        ours, theirs = (codec.decode(one) if one else () for one in (self._stored(number), stored))
        if not ours:
            return True
        at = len(ours) - 1
        if len(theirs) <= at or any(ours[each] != theirs[each] for each in range(at)):
            return False
        last, longer = ours[at], theirs[at]
        return (last.source, last.target) == (longer.source, longer.target) and last.length <= longer.length

    def persist_again(self, segment: int) -> None:
        """Say that writing failed or was overwritten: from this segment on all is to be persisted again."""
        self._top = max(self._top, segment)  # one above them all is stored as empty
        self._dirty |= set(range(max(segment, self.first), self._top + 1))

    def forget_above(self, top: int) -> None:
        """Say that segments up to ``top`` were persisted, and that those above the last one are to be forgotten."""
        self.persist_again(top)
        self.persist_again(self._last)

    @property
    def _last(self) -> int:
        """The number of the last segment, which still grows."""
        return self.first + max(0, len(self.map) - 1) // SEGMENT_RANGES

    def _close(self, mapped: MappedRange, ranges: int) -> None:
        """A range that was the last of ``ranges`` grows no more."""
        if self._writer is not None:
            self._writer.append(mapped)
        if ranges % SEGMENT_RANGES:
            return
        sealed = self._last - 1
        if self._writer is not None:
            self._sealed[sealed] = self._writer.close()
        self._writer = codec.Writer()
        if self._last - self.first >= 2 * HELD:
            self._drop(self._last - HELD)

    def _drop(self, first: int) -> None:
        """Hold nothing below a segment any more, but what is not known to be persisted."""
        first = min({first, *self._dirty, *self._under_way})
        if first <= self.first:
            return
        skipped = (first - self.first) * SEGMENT_RANGES
        columns = [column[skipped:] for column in self.map.columns()]
        self.map = OffsetMap.of_columns((columns[0][0], columns[1][0]), *columns)
        self._sealed = {number: stored for number, stored in self._sealed.items() if number >= first}
        self.first = first

    def _stored(self, number: int) -> bytes:
        """A segment as it is stored; none of one that has no ranges."""
        at = (number - self.first) * SEGMENT_RANGES
        if at < 0 or at >= len(self.map):
            return b""
        if number < self._last:
            if number not in self._sealed:
                self._sealed[number] = codec.encode(
                    OffsetMap.of(self.map[one] for one in range(at, at + SEGMENT_RANGES))
                )
            return self._sealed[number]
        if self._writer is None:
            self._writer = codec.Writer()
            for one in range(at, len(self.map) - 1):
                self._writer.append(self.map[one])
        last = self.map.last
        assert last is not None
        return self._writer.with_last(last)
