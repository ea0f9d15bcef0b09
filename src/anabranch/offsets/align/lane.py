"""One lane from its islands to its map: what is left to look at, and what it comes to.

cells = cells_of(bounds, kept)                     islands to hold against each other place by place
walked = walk(bounds, cells, strips)               certain ranges, and the gaps between them
aligned = assemble(bounds, walked, chain, settled) the map and its unclear spans
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from anabranch.offsets.align.gaps import Gap, Settled, Unclear, Why
from anabranch.offsets.align.islands import Chain, Island
from anabranch.offsets.align.places import NO_ANCHOR, Strip
from anabranch.offsets.offset_map import MappedRange, OffsetMap


class Bounds(NamedTuple):
    """The offsets ``[start, end)`` of both logs that are aligned: from where each log begins now."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int

    @property
    def headless(self) -> bool:
        """Whether the source's log has lost its beginning."""
        return self.source_start > 0


class Cell(NamedTuple):
    """Offsets of one distance; ``look`` tells whether contents must be held against each other there.

    ``head`` and ``tail``: it reaches to where both logs begin, or end.
    """

    source: int
    target: int
    length: int
    look: bool
    head: bool = False
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Walked:
    """What is certain of a lane by now, in order, and the gaps that are not void."""

    ranges: tuple[MappedRange, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """The map of a lane, and the spans in which it gives no position; those do not overlap."""

    ranges: OffsetMap
    unclear: tuple[Unclear, ...] = ()


def cells_of(bounds: Bounds, kept: Sequence[Island]) -> tuple[Cell, ...]:
    """The kept islands as cells.

    The first and the last reach to the logs' ends where those are as far apart as the island's sides, and without any
    island both logs are one cell if they are equally long: then equal contents, without one too many or too few,
    are equal records.
    """
    source, target = bounds.source_end - bounds.source_start, bounds.target_end - bounds.target_start
    if not kept:
        if bounds.headless or source != target or not source:
            return ()
        return (Cell(bounds.source_start, bounds.target_start, source, True, True, True),)
    cells = [Cell(one.source, one.target, one.length, not one.dense) for one in kept]
    first = cells[0]
    before = first.source - bounds.source_start
    if not bounds.headless and before and before == first.target - bounds.target_start:
        cells[0] = Cell(bounds.source_start, bounds.target_start, before + first.length, True, True)
    last = cells[-1]
    behind = bounds.source_end - last.source - last.length
    if behind and behind == bounds.target_end - last.target - last.length:
        cells[-1] = last._replace(length=last.length + behind, look=True, tail=True)
    return tuple(cells)


@dataclass(slots=True)
class _Walk:
    """Where a walk along the cells stands: behind its last anchor, with what came since."""

    source: int
    target: int
    head: bool = True
    straight: bool = False
    loose: list[MappedRange] = field(default_factory=list)
    differing: int = 0
    sources: int = 0
    targets: int = 0
    ranges: list[MappedRange] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def close(self, source: int, target: int, *, tail: bool = False) -> None:
        """Come to an anchor, or to the end: what lies before it is certain, or a gap."""
        records = (self.sources, self.targets) if not (self.loose or self.differing) else (1, 1)
        if self.straight and not (self.differing or self.sources or self.targets):
            self.ranges += self.loose
        elif not (self.straight and 0 in records):
            gap = Gap(self.source, source, self.target, target, self.head, tail)
            if not gap.void:
                self.gaps.append(gap)

    def leave(self, source: int, target: int) -> None:
        """Go on behind an anchor."""
        self.source, self.target, self.head, self.straight = source, target, False, True
        self.loose = []
        self.differing = self.sources = self.targets = 0


def walk(bounds: Bounds, cells: Sequence[Cell], strips: Mapping[int, Sequence[Strip]]) -> Walked:
    """Walk along a lane's cells; ``strips`` holds those of each cell that was to be looked at, by its index."""
    state = _Walk(bounds.source_start, bounds.target_start)
    for at, cell in enumerate(cells):
        state.straight = at == 0 and cell.head
        for strip in strips.get(at, ()) if cell.look else (_whole(cell),):
            if not strip.good:
                state.differing += strip.differing
                state.sources += strip.sources
                state.targets += strip.targets
            elif strip.anchor == NO_ANCHOR:
                state.loose.append(_run(cell, strip.first, strip.last + 1))
            else:
                state.loose += _some(cell, strip.first, strip.anchor)
                shift = cell.source - cell.target
                state.close(strip.anchor + shift, strip.anchor)
                state.ranges.append(_run(cell, strip.anchor, strip.last_anchor + 1))
                state.leave(strip.last_anchor + 1 + shift, strip.last_anchor + 1)
                state.loose += _some(cell, strip.last_anchor + 1, strip.last + 1)
    state.straight = state.straight and bool(cells) and cells[-1].tail
    state.close(bounds.source_end, bounds.target_end, tail=True)
    return Walked(tuple(state.ranges), tuple(state.gaps))


def assemble(bounds: Bounds, walked: Walked, found: Chain, settled: Iterable[Settled]) -> Aligned:
    """The map of all that is certain, and what is not.

    The map begins where a log begins whose other side has lost nothing, else at the first copied record; it ends
    behind the last copied record of the source, and at the target's end.
    """
    ranges, unclear = list(walked.ranges), list(_disorder(found))
    for one in settled:
        ranges += one.ranges
        unclear += one.unclear
    ranges.sort(key=lambda mapped: mapped.source)
    spans = _merged(unclear)
    places = [(mapped.source, mapped.target) for mapped in ranges[:1]] + [
        (one.source_from, one.target_from) for one in spans
    ]
    if not places:
        return Aligned(
            OffsetMap(bounds.source_start, bounds.target_start).advance(bounds.source_start, bounds.target_end)
        )
    source_start = bounds.source_start if bounds.target_start == 0 else min(source for source, _ in places)
    target_start = bounds.target_start if bounds.source_start == 0 else min(target for _, target in places)
    made = OffsetMap(source_start, target_start).extend(ranges)
    source_end = max([made.source_end, *(one.source_to for one in spans)])
    return Aligned(made.advance(source_end, bounds.target_end), spans)


def _disorder(found: Chain) -> Iterator[Unclear]:
    """What lies between records that were copied before others of lower source offsets, and those others.

    Past the end of what is kept that is no matter: the mirror has not come by there again.
    """
    kept = found.kept
    if not kept:
        return
    targets, ends = [one.target for one in kept], [one.source_end for one in kept]
    full = _full_to(kept)
    for one in found.left:
        # What is an anchor elsewhere is none of these.
        inside = bisect_right(ends, one.source)
        source = one.source
        if inside < len(kept) and kept[inside].source <= source:
            source = max(source, full[inside])
        if source >= min(ends[-1], one.source_end):
            continue
        behind = bisect_left(targets, one.target)
        low = kept[behind].source if behind < len(kept) else ends[-1]
        high = min(one.source_end, ends[-1])
        at = bisect_left(ends, high + 1)
        to = kept[at].target + max(0, high - kept[at].source) if at < len(kept) else kept[-1].target_end
        yield Unclear(min(low, source), high, one.target, max(to, one.target_end), Why.ORDER)


def _full_to(kept: Sequence[Island]) -> list[int]:
    """Up to where each source offset is an anchor of a kept island, from the beginning of each of them."""
    found = [0] * len(kept)
    for at in reversed(range(len(kept))):
        one = kept[at]
        found[at] = one.source_end if one.dense else one.source
        if one.dense and at + 1 < len(kept) and kept[at + 1].source == one.source_end:
            found[at] = found[at + 1]
    return found


def _merged(unclear: Iterable[Unclear]) -> tuple[Unclear, ...]:
    """The spans with those that overlap made one."""
    found: list[Unclear] = []
    for one in sorted(unclear):
        last = found[-1] if found else None
        if last is not None and (one.source_from < last.source_to or one.target_from < last.target_to):
            found[-1] = Unclear(
                last.source_from,
                max(last.source_to, one.source_to),
                min(last.target_from, one.target_from),
                max(last.target_to, one.target_to),
                last.why,
            )
        else:
            found.append(one)
    return tuple(found)


def _whole(cell: Cell) -> Strip:
    last = cell.target + cell.length - 1
    return Strip(cell.target, last, True, cell.target, last)


def _run(cell: Cell, start: int, end: int) -> MappedRange:
    return MappedRange(start - cell.target + cell.source, start, end - start)


def _some(cell: Cell, start: int, end: int) -> list[MappedRange]:
    return [_run(cell, start, end)] if start < end else []
