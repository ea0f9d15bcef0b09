"""Islands: spans of anchors at one distance, and the chain of those that a reader can be led along.

An anchor is a pair (source offset, target offset) of one content that lies in the source once; of several copies on
the target it is the last.  Anchors that follow each other in the target at the same distance make an island.

The chain keeps an anchor only where every later one in the target has a higher source offset.  So a reader who is put
at a kept copy meets nothing behind it that it has read: where a mirror went back after a crash, the earlier copies are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

CHUNK_BITS = 18
"""Target offsets that are sorted together, as a power of two: what two tasks saw is joined by whoever collects."""


class Island(NamedTuple):
    """``anchors`` of one distance between source offsets ``source`` and ``source + length - 1``, both anchors.

    ``single`` of them lie in the target once, too.
    """

    source: int
    target: int
    length: int
    anchors: int
    single: int

    @property
    def distance(self) -> int:
        """Target offset less source offset."""
        return self.target - self.source

    @property
    def source_end(self) -> int:
        """The source offset behind the last anchor."""
        return self.source + self.length

    @property
    def target_end(self) -> int:
        """The target offset behind the last anchor."""
        return self.target + self.length

    @property
    def dense(self) -> bool:
        """Whether every offset inside is an anchor."""
        return self.anchors == self.length


class Chain(NamedTuple):
    """``kept`` rise on both sides; ``left`` are anchors whose only copy lies before one of a lower source offset."""

    kept: tuple[Island, ...]
    left: tuple[Island, ...]


def fold_anchors(lanes: Longs, targets: Longs, sources: Longs, single: Longs) -> Iterator[tuple[int, Island]]:
    """The islands of anchors that are sorted by lane and target, as (lane, island), cut where a chunk ends."""
    import numpy as np

    if not len(lanes):
        return
    distances = targets - sources
    chunks = targets >> CHUNK_BITS
    new = np.ones(len(lanes), dtype=bool)
    new[1:] = (lanes[1:] != lanes[:-1]) | (distances[1:] != distances[:-1]) | (chunks[1:] != chunks[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(lanes)) - 1
    lengths = targets[last] - targets[first] + 1
    singles = np.add.reduceat(single, first)
    columns = (lanes[first], sources[first], targets[first], lengths, last - first + 1, singles)
    for lane, *numbers in zip(*(column.tolist() for column in columns), strict=True):
        yield lane, Island(*numbers)


def join_islands(pieces: Iterable[Island]) -> list[Island]:
    """Islands of one lane, in the target's order, with neighbours of one distance made one."""
    found: list[Island] = []
    for one in pieces:
        if found and found[-1].distance == one.distance:
            last = found[-1]
            length = one.target_end - last.target
            anchors, single = last.anchors + one.anchors, last.single + one.single
            found[-1] = Island(last.source, last.target, length, anchors, single)
        else:
            found.append(one)
    return found


def chain(islands: Sequence[Island], *, headless: bool) -> Chain:
    """What is kept of a lane's islands, given in the target's order.

    ``headless``: the source's log has lost its beginning.  A content that lies in the target several times may then
    have been in the source several times, too, so an island without any that is single on both sides is no evidence.

    An island that reaches past what is kept after it is cut; unless it is dense, its new end need not be an anchor.
    """
    kept: list[Island] = []
    left: list[Island] = []
    low: int | None = None
    for one in reversed(islands):
        if headless and not one.single:
            continue
        if low is None or one.source_end <= low:
            kept.append(one)
        elif one.source >= low:
            left.append(one)
        else:
            length = low - one.source
            anchors = length if one.dense else max(1, min(one.anchors, length - 1))
            kept.append(Island(one.source, one.target, length, anchors, one.single))
            beyond = one.length - length
            left.append(Island(low, one.target + length, beyond, beyond if one.dense else 1, 0))
        low = one.source if low is None else min(low, one.source)
    return Chain(tuple(reversed(kept)), tuple(reversed(left)))
