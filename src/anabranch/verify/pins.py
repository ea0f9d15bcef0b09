"""Pins: the offsets of a lane that one comparison is about, fixed when it begins.

    source   [source_from, source_to)     what a read-committed consumer sees there must lie ...
    target   [target_from, target_to)     ... here, through the map, and nothing else may

Below its pins a log changes only by retention, compaction, deletion and truncation, so both clusters may live on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.offsets.translate import Exact, to_source, to_target

CHUNK_BITS = 16
CHUNK = 1 << CHUNK_BITS
"""Source offsets that are summed up in one; what differs is looked at a chunk at a time."""


@dataclass(frozen=True, slots=True)
class LogEnds:
    """A partition as it is now: its first offset, and the end of what is stable (source) or replicated (target)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pin:
    """One lane's ranges with its map; ``lane`` is the text of the lane's key.

    ``source_compacts`` and ``target_compacts``: whether a cleaner may take records out of the middle of that log.
    Invariant: ``from`` is at most ``to`` on both sides.
    """

    lane: str
    source: TopicPartition
    target: TopicPartition
    source_from: int
    source_to: int
    target_from: int
    target_to: int
    ranges: OffsetMap
    source_compacts: bool = False
    target_compacts: bool = False

    @property
    def offsets(self) -> int:
        """Source offsets in the pin, gaps included."""
        return self.source_to - self.source_from

    @property
    def empty(self) -> bool:
        """Whether there is nothing on either side to look at."""
        return self.source_from >= self.source_to and self.target_from >= self.target_to

    @property
    def shift(self) -> int | None:
        """What to subtract from each target offset to get its position, where that is one number; else None.

        So it is where one run has all of the pin's target offsets: there is no gap, and no foreign record.
        """
        if self.target_from >= self.target_to:
            return 0
        run = self.ranges[index] if (index := self.ranges.find_target(self.target_from)) >= 0 else None
        if run is None or self.target_to > run.target_end:
            return None
        shift = run.target - run.source
        inside = self.source_from <= self.target_from - shift and self.target_to - shift <= self.source_to
        return shift if inside else None

    def target_at(self, source: int) -> int:
        """The target offset that divides what belongs below a source offset from what belongs at it and above.

        A foreign record belongs to the next copied record after it.
        """
        index = self.ranges.find_source(source - 1)
        if index < 0:
            return self.target_from
        run = self.ranges[index]
        after = run.target + min(source - run.source, run.length)
        return min(max(after, self.target_from), self.target_to)

    def up_to(self, source: int, target: int) -> Pin:
        """The pin up to these offsets, which belong together."""
        return replace(self, source_to=source, target_to=target)

    def part(self, source_from: int, source_to: int) -> Pin:
        """The pin of a part of the source offsets, with the target offsets that belong to them."""
        return replace(
            self,
            source_from=source_from,
            source_to=source_to,
            target_from=self.target_from if source_from <= self.source_from else self.target_at(source_from),
            target_to=self.target_to if source_to >= self.source_to else self.target_at(source_to),
        )


def pin(
    lane: str,
    source: TopicPartition,
    target: TopicPartition,
    ranges: OffsetMap,
    source_log: LogEnds,
    target_log: LogEnds,
    since: tuple[int, int] | None = None,
    compacts: tuple[bool, bool] = (False, False),
) -> Pin:
    """Pin a lane: from ``since`` (source and target offset up to which it was verified) to what the map accounts for.

    What a log has lost at its start before now is not compared, on either side; nor is what the map tells of no more.
    """
    first, at = since if since is not None else (0, 0)
    first, at = max(first, ranges.source_start), max(at, ranges.target_start)
    if source_log.start > first:
        first = min(source_log.start, ranges.source_end)
        position = to_target(ranges, first)
        at = max(at, position.offset) if isinstance(position, Exact) else at
    if target_log.start > at:
        at = min(target_log.start, ranges.target_end)
        back = to_source(ranges, at)
        first = max(first, back.offset) if isinstance(back, Exact) else first
    return Pin(
        lane,
        source,
        target,
        first,
        max(first, ranges.source_end),
        at,
        max(at, ranges.target_end),
        ranges,
        *compacts,
    )


def chunk_of(source: int) -> int:
    """The chunk that a source offset is in."""
    return source >> CHUNK_BITS


def pieces(whole: Pin, size: int) -> Iterator[Pin]:
    """Cut a pin into pieces of about ``size`` source offsets that end where chunks end; an empty pin has none."""
    if whole.empty:
        return
    at = whole.source_from
    while True:
        end = min(whole.source_to, (chunk_of(at + max(size, CHUNK) - 1) + 1) << CHUNK_BITS)
        yield whole.part(at, end)
        if end >= whole.source_to:
            return
        at = end


def by_shift(whole: Pin, most: int) -> list[Pin]:
    """Cut a pin where chunks end, so that chunks with one shift are apart from those without; uncut beyond ``most``."""
    if not whole.offsets:
        return [whole]
    ranges: list[tuple[int, int, int | None]] = []
    for chunk in range(chunk_of(whole.source_from), chunk_of(whole.source_to - 1) + 1):
        shift = chunks_pin(whole, chunk, chunk).shift
        if ranges and ranges[-1][2] == shift:
            ranges[-1] = (ranges[-1][0], chunk, shift)
        else:
            ranges.append((chunk, chunk, shift))
    if len(ranges) > most:
        return [whole]
    return [chunks_pin(whole, first, last) for first, last, _ in ranges]


def chunks_pin(whole: Pin, first: int, last: int) -> Pin:
    """The part of a pin that lies in chunks ``first`` to ``last``; the chunk at its very end takes the rest."""
    begin = max(whole.source_from, first << CHUNK_BITS)
    end = min(whole.source_to, (last + 1) << CHUNK_BITS)
    return whole.part(min(begin, whole.source_to), max(min(begin, whole.source_to), end))


def gather(chunks: list[int], most: int) -> list[tuple[int, int]]:
    """Return at most ``most`` ranges (first, last) that hold all of these sorted chunks and little else."""
    ranges = [(chunk, chunk) for chunk in chunks]
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    if len(joined) <= most:
        return joined
    gaps = sorted(range(1, len(joined)), key=lambda at: joined[at][0] - joined[at - 1][1], reverse=True)
    cuts = sorted(gaps[: most - 1])
    result, begin = [], 0
    for cut in (*cuts, len(joined)):
        result.append((joined[begin][0], joined[cut - 1][1]))
        begin = cut
    return result


def holds(ranges: list[tuple[int, int]], chunk: int) -> bool:
    """Whether a chunk lies in one of these sorted ranges."""
    at = bisect_left(ranges, (chunk + 1, -1)) - 1
    return at >= 0 and ranges[at][0] <= chunk <= ranges[at][1]
