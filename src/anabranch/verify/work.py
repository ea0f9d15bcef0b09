"""How a comparison is divided into rounds, and the progress of each lane after every round.

A round reads one part of each lane that has something left, on both sides; of some of them in turn, where a chunk of
each would be more than a round.  Parts of a lane go in order, so that after any round a lane is verified up to one
offset: a comparison that is stopped goes on there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.verify.pins import CHUNK, Pin, chunks_pin, gather, pieces
from anabranch.verify.sums import NOTHING, Sum, differing

MOST_RANGES = 64
"""Ranges of differing chunks that are remembered of a lane; more are joined, with what lies between them."""


@dataclass(frozen=True, slots=True)
class RoundPart:
    """A part of a lane in a round; ``is_new`` unless it was read by an earlier comparison and differed."""

    lane: int
    pin: Pin
    is_new: bool


@dataclass(slots=True)
class LaneWork:
    """One lane while it is compared: where what is new begins, how far it is, the sums of all, what differs."""

    pin: Pin
    begins: int
    source_done: int
    target_done: int
    source: Sum = NOTHING
    target: Sum = NOTHING
    uncommitted: Sum = NOTHING
    chunks: set[int] = field(default_factory=set)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The chunks that differ, as few ranges."""
        return tuple(gather(sorted(self.chunks), MOST_RANGES))


class ComparisonWork:
    """All lanes of one comparison; ``size`` source offsets are read in a round, and may be changed between rounds."""

    def __init__(
        self,
        pins: Sequence[Pin],
        since: Mapping[str, tuple[int, int]],
        again: Mapping[str, Sequence[tuple[int, int]]],
        size: int,
    ) -> None:
        self.size = size
        self._each = CHUNK
        self.lanes: list[LaneWork] = []
        self.offsets = 0
        self.done = 0
        self._parts: list[Iterator[RoundPart]] = []
        for lane, pin in enumerate(pins):
            begin, at = since.get(pin.lane, (pin.source_from, pin.target_from))
            begin = min(max(begin, pin.source_from), pin.source_to)
            at = min(max(at, pin.target_from), pin.target_to)
            self.lanes.append(LaneWork(pin, begin, begin, at))
            old = [part for first, last in again.get(pin.lane, ()) for part in _old(pin, begin, at, first, last)]
            self.offsets += sum(part.offsets for part in old) + pin.source_to - begin
            self._parts.append(self._cut(lane, old, _rest(pin, begin, at)))

    def rounds(self) -> Iterator[list[RoundPart]]:
        """The parts of one round after the other."""
        left = deque(self._parts)
        while left:
            lanes = max(1, min(len(left), self.size // CHUNK))
            self._each = max(CHUNK, self.size // lanes)
            parts = []
            for rest in [left.popleft() for _ in range(lanes)]:
                part = next(rest, None)
                if part is not None:
                    parts.append(part)
                    left.append(rest)
            if parts:
                yield parts

    def _cut(self, lane: int, old: Sequence[Pin], rest: Pin) -> Iterator[RoundPart]:
        for whole, is_new in (*((pin, False) for pin in old), (rest, True)):
            left = whole
            while not left.empty:
                piece = next(pieces(left, self._each))
                yield RoundPart(lane, piece, is_new)
                left = _rest(left, piece.source_to, piece.target_to)

    def finish(self, parts: Sequence[RoundPart], sums: Sequence[Mapping[int, Mapping[int, Sum]]]) -> None:
        """Take in a round: the sums of source, target and (or not) the target uncommitted, by lane and chunk."""
        for part in parts:
            lane = self.lanes[part.lane]
            mine = [dict(one.get(part.lane, {})) for one in sums]
            lane.chunks.update(differing(mine[0], *mine[1:]))
            lane.source = _sum(lane.source, mine[0])
            lane.target = _sum(lane.target, mine[1])
            if len(mine) > 2:
                lane.uncommitted = _sum(lane.uncommitted, mine[2])
            self.done += part.pin.offsets
            if part.is_new:
                lane.source_done, lane.target_done = part.pin.source_to, part.pin.target_to


def _sum(before: Sum, chunks: Mapping[int, Sum]) -> Sum:
    for one in chunks.values():
        before = before.plus(one)
    return before


def _rest(pin: Pin, source: int, target: int) -> Pin:
    """The part of a pin after these offsets."""
    return Pin(
        pin.lane,
        pin.source,
        pin.target,
        source,
        pin.source_to,
        target,
        pin.target_to,
        pin.ranges,
        pin.source_compacts,
        pin.target_compacts,
    )


def _old(pin: Pin, source: int, target: int, first: int, last: int) -> list[Pin]:
    """The part of some chunks that lies before what is new."""
    part = chunks_pin(pin.up_to(source, target), first, last)
    return [] if part.empty else [part]
