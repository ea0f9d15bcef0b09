"""Name the records that are not where the map says.

The input are the *strays* of a lane: source records that are not at their mapped offset in the target, and target
records that are not at their mapped offset in the source.  All other records are *anchors*: equal on both sides, in
order.  Each stray gets one finding, and a pair of strays one together:

1. A source stray and a target stray of equal contents are a pair (equal ones in order of their offsets).
   Two pairs that exchanged their offsets are **reordered**.  A pair with an anchor between where it should be and
   where it is: reordered.  Of the others the longest subsequence that rises on both sides is **displaced** (in order,
   and elsewhere than the map says: after a record that was left out, everything is), the rest reordered.
2. A target stray that is left and whose contents the source holds elsewhere: **duplicate**, or displaced where that is
   outside of the pin.  A source stray that is left and whose contents lie outside of the target's pin: displaced.
3. A target stray that is left at the offset of a source stray that is left: **modified**.  The offset is the map's,
   or that which the displaced pairs around it show.
4. What is left of the source: gone if its mapped offset is below the target's first offset of now or the cleaner may
   have taken it, else **missing**.  What is left of the target: gone if its mapped offset is below the source's first
   offset or the cleaner may have taken that, else **unexpected**.

Where contents repeat (the same bytes and timestamp many times) the offsets are one of several equally good answers; the
numbers are exact.  ``hidden`` is not decided here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.offsets.offset_map import OffsetMap
from anabranch.verify.findings import NO_FIELDS, NOWHERE, FindingKind, RecordField
from anabranch.verify.rows import Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Indices = NDArray[np.intp]

NamedStray = tuple[FindingKind, int, int, RecordField]
"""(kind, source offset, target offset, modified fields); offsets are -1 where there is none."""

ContentOffsets = Mapping[tuple[int, int], int]
"""An offset at which contents lie outside of the strays, by both halves of their digest."""

NOTHING: ContentOffsets = {}


@dataclass(frozen=True, slots=True)
class ComparedLane:
    """What is known of the lane beside its strays: the map, the pins, and the first offsets of both logs now."""

    ranges: OffsetMap
    source: tuple[int, int]
    target: tuple[int, int]
    source_start: int = 0
    target_start: int = 0


@dataclass(frozen=True, slots=True)
class Pairing:
    """Step 1: indices into both sides of the pairs, in target order, and of what is left."""

    sources: Indices
    targets: Indices
    source_left: Indices
    target_left: Indices


def pair(source: Rows, target: Rows) -> Pairing:
    """Pair strays of equal contents, the n-th of them with the n-th."""
    import numpy as np

    _, codes = np.unique(np.concatenate([source.keys, target.keys]), return_inverse=True)
    ours, theirs = codes[: len(source)], codes[len(source) :]
    width = max(len(source), len(target)) + 1
    _, one, other = np.intersect1d(
        ours * width + _rank(ours), theirs * width + _rank(theirs), assume_unique=True, return_indices=True
    )
    order = np.argsort(other, kind="stable")
    one, other = one[order], other[order]
    return Pairing(one, other, _others(len(source), one), _others(len(target), other))


def classify(
    source: Rows,
    target: Rows,
    lane: ComparedLane,
    in_source: ContentOffsets = NOTHING,
    in_target: ContentOffsets = NOTHING,
) -> list[NamedStray]:
    """Name all strays; the first named are the lowest by kind, then by offset.

    ``in_source`` tells where the contents of target strays lie among the source's other records, ``in_target``
    where those of source strays lie outside of the target's pin; ``unresolved`` says whose are worth a look.
    """
    pairs = pair(source, target)
    found: list[NamedStray] = []
    displaced = _pairs(source, target, pairs, lane, found)
    known: dict[tuple[int, int], int] = dict(
        zip(map(tuple, source.digests.tolist()), source.offsets.tolist(), strict=True)
    )
    left_source = {int(source.offsets[at]): int(at) for at in pairs.source_left}
    left_target: list[int] = []
    for at in pairs.target_left.tolist():
        digest, offset = tuple(target.digests[at].tolist()), int(target.offsets[at])
        origin = in_source.get(digest, known.get(digest))
        if origin is None:
            left_target.append(at)
        elif lane.source[0] <= origin < lane.source[1]:
            found.append((FindingKind.DUPLICATE, origin, offset, NO_FIELDS))
        else:
            found.append((FindingKind.DISPLACED, origin, offset, NO_FIELDS))
    for offset, at in list(left_source.items()):
        copy = in_target.get(tuple(source.digests[at].tolist()))
        if copy is not None and not lane.target[0] <= copy < lane.target[1]:
            found.append((FindingKind.DISPLACED, offset, copy, NO_FIELDS))
            del left_source[offset]
    for source_of in (lambda at: int(target.mapped[at]), displaced.mapped_offset):
        left_target = _modified(source, target, left_source, left_target, source_of, found)
    for offset, at in left_source.items():
        mapped_offset = int(source.mapped[at])
        if mapped_offset != NOWHERE and mapped_offset < lane.target_start:
            found.append((FindingKind.GONE_TARGET_RETENTION, offset, mapped_offset, NO_FIELDS))
        elif source.excused[at]:
            found.append((FindingKind.GONE_TARGET_COMPACTION, offset, mapped_offset, NO_FIELDS))
        else:
            found.append((FindingKind.MISSING, offset, NOWHERE, NO_FIELDS))
    for at in left_target:
        mapped_offset, offset = int(target.mapped[at]), int(target.offsets[at])
        if mapped_offset != NOWHERE and mapped_offset < lane.source_start:
            found.append((FindingKind.GONE_SOURCE_RETENTION, mapped_offset, offset, NO_FIELDS))
        elif target.excused[at]:
            found.append((FindingKind.GONE_SOURCE_COMPACTION, mapped_offset, offset, NO_FIELDS))
        else:
            found.append((FindingKind.UNEXPECTED, NOWHERE, offset, NO_FIELDS))
    found.sort()
    return found


def unresolved(source: Rows, target: Rows, most: int) -> tuple[Longs, Longs]:
    """The digests of at most ``most`` strays of each side that have no pair: who knows whether they lie elsewhere?"""
    pairs = pair(source, target)
    return source.digests[pairs.source_left[:most]], target.digests[pairs.target_left[:most]]


class _Displaced:
    """The displaced pairs, to guess from them where a modified record between them belongs."""

    def __init__(self, pairs: Sequence[tuple[int, int]], targets: Longs) -> None:
        self._targets = [target for _, target in pairs]
        self._sources = [source for source, _ in pairs]
        self._offsets = targets

    def mapped_offset(self, at: int) -> int:
        """The source offset of a target stray by its neighbour below, else by that above; -1 without any."""
        offset = int(self._offsets[at])
        index = bisect_left(self._targets, offset)
        near = index - 1 if index else index
        if near >= len(self._targets):
            return NOWHERE
        return self._sources[near] + offset - self._targets[near]


def _pairs(source: Rows, target: Rows, pairs: Pairing, lane: ComparedLane, found: list[NamedStray]) -> _Displaced:
    import numpy as np

    at = source.offsets[pairs.sources]
    offsets, mapped = target.offsets[pairs.targets], target.mapped[pairs.targets]
    reordered = _exchanged(at, mapped) | _crossing(
        at, offsets, mapped, np.union1d(source.offsets, target.mapped), lane.ranges
    )
    rising = np.flatnonzero(~reordered)
    kept = np.zeros(len(at), dtype=bool)
    kept[rising[longest_rise(at[rising].tolist())]] = True
    for kind, which in ((FindingKind.DISPLACED, kept), (FindingKind.REORDERED, ~kept)):
        found.extend((kind, s, t, NO_FIELDS) for s, t in zip(at[which].tolist(), offsets[which].tolist(), strict=True))
    return _Displaced(list(zip(at[kept].tolist(), offsets[kept].tolist(), strict=True)), target.offsets)


def _exchanged(at: Longs, mapped: Longs) -> Any:
    """Which pairs took each other's places."""
    import numpy as np

    if not len(at):
        return np.zeros(0, dtype=bool)
    order = np.argsort(at)
    where = np.minimum(np.searchsorted(at[order], mapped), len(at) - 1)
    partner = order[where]
    return (at[partner] == mapped) & (mapped[partner] == at)


def _crossing(at: Longs, offsets: Longs, mapped: Longs, strays: Longs, ranges: OffsetMap) -> Any:
    """Which pairs have an anchor between their source offset and where the target has them.

    ``strays`` are the sorted source offsets, and places, of all strays: what else is mapped is an anchor.
    """
    import numpy as np

    from anabranch.offsets.bulk import Kind as Exactness
    from anabranch.offsets.bulk import to_source_bulk

    foreign = mapped == NOWHERE
    positions, kinds = to_source_bulk(ranges, offsets)
    behind = np.where(kinds == Exactness.EXACT, positions, ranges.source_end)
    landed = np.where(foreign, behind, mapped)
    # The record at the mapped offset itself is no anchor, but one that follows a foreign record may be.
    low = np.where(landed > at, at + 1, np.where(foreign, landed, landed + 1))
    high = np.maximum(np.where(landed > at, landed, at), low)
    sources, _, lengths = (np.asarray(column, dtype=np.int64) for column in ranges.columns())
    strays = strays[_mapped(strays, sources, lengths)]
    anchors = _below(high, sources, lengths) - _below(low, sources, lengths)
    return anchors > np.searchsorted(strays, high) - np.searchsorted(strays, low)


def _mapped(offsets: Longs, sources: Longs, lengths: Longs) -> Any:
    """Which source offsets lie in a run."""
    import numpy as np

    if not len(sources):
        return np.zeros(len(offsets), dtype=bool)
    run = np.searchsorted(sources, offsets, side="right") - 1
    return (run >= 0) & (offsets < sources[run] + lengths[run])


def _below(offsets: Longs, sources: Longs, lengths: Longs) -> Longs:
    """How many source offsets that lie in runs are below each of these."""
    import numpy as np

    total = np.append(0, np.cumsum(lengths))
    if not len(sources):
        return np.zeros(len(offsets), dtype=np.int64)
    run = np.searchsorted(sources, offsets, side="right") - 1
    within = np.where(run >= 0, np.minimum(offsets - sources[run], lengths[run]), 0)
    result: Longs = total[np.maximum(run, 0)] + within
    return result


def longest_rise(numbers: Sequence[int]) -> list[int]:
    """The indices of a longest strictly rising subsequence, in order (patience sorting, O(n log n))."""
    tails: list[int] = []
    at: list[int] = []
    before = [-1] * len(numbers)
    for index, number in enumerate(numbers):
        pile = bisect_left(tails, number)
        if pile == len(tails):
            tails.append(number)
            at.append(index)
        else:
            tails[pile] = number
            at[pile] = index
        if pile:
            before[index] = at[pile - 1]
    result: list[int] = []
    index = at[-1] if at else -1
    while index >= 0:
        result.append(index)
        index = before[index]
    return result[::-1]


def _modified(
    source: Rows,
    target: Rows,
    left_source: dict[int, int],
    left_target: list[int],
    source_of: Callable[[int], int],
    found: list[NamedStray],
) -> list[int]:
    """Match what is left by place; returns what of the target is left then."""
    rest = []
    for at in left_target:
        mate = left_source.pop(source_of(at), None)
        if mate is None:
            rest.append(at)
            continue
        changed = (source.parts[mate] != target.parts[at]).tolist()
        fields = RecordField(sum(part for part, differs in zip(RecordField, changed, strict=True) if differs))
        found.append((FindingKind.MODIFIED, int(source.offsets[mate]), int(target.offsets[at]), fields))
    return rest


def _rank(codes: Any) -> Any:
    """For each entry, how many equal ones stand before it."""
    import numpy as np

    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(codes) else order
    lengths = np.diff(np.append(starts, len(codes)))
    result = np.empty(len(codes), dtype=np.int64)
    result[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return result


def _others(count: int, taken: Any) -> Any:
    """The indices below ``count`` that are not among the taken ones."""
    import numpy as np

    rest = np.ones(count, dtype=bool)
    rest[taken] = False
    return np.flatnonzero(rest)
