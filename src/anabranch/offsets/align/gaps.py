"""Gaps: what lies between two anchors and does not plainly fit, matched where just one way is possible.

Inside a gap copies keep the source's order.

All of the source's records fit into what may be copies: each is there, and some more than once.  The last ones are
kept: a reader who is put there sees just the contents that it has not read, whichever of equal records these are.

All that may be a copy fits into the source's records: some were lost.  Where the first and the last possible record
differ it is unclear which, and a reader there would see one too many or one too few.

Whatever is neither is unclear as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from anabranch.offsets.offset_map import MappedRange

LARGEST = 1 << 20
"""Records of one side of a gap that are matched; a larger gap is unclear as a whole."""

Digest = tuple[int, int]


class Why(StrEnum):
    """Why no position in a span is exact."""

    SEVERAL = "several"
    """Equal contents: the copies could be those of other records."""
    ORDER = "order"
    """Records were copied only before others that precede them: no place has just the unread ones behind it."""
    LARGE = "large"
    """Too many records without a content of their own to be matched."""


class Unclear(NamedTuple):
    """Source offsets ``[source_from, source_to)`` and target offsets ``[target_from, target_to)`` that belong together,
    one does not know how."""

    source_from: int
    source_to: int
    target_from: int
    target_to: int
    why: Why


@dataclass(frozen=True, slots=True)
class Gap:
    """The offsets between two anchors, or before the first (``head``), or behind the last (``tail``)."""

    source_from: int
    source_to: int
    target_from: int
    target_to: int
    head: bool = False
    tail: bool = False

    @property
    def void(self) -> bool:
        """Whether one side has nothing here, so that there is nothing to match."""
        return self.source_from >= self.source_to or self.target_from >= self.target_to

    def unclear(self, why: Why) -> Unclear:
        """All of it."""
        return Unclear(self.source_from, self.source_to, self.target_from, self.target_to, why)


class Row(NamedTuple):
    """A record of one side."""

    offset: int
    digest: Digest


class Settled(NamedTuple):
    """What a gap holds: ranges, and what is unclear."""

    ranges: tuple[MappedRange, ...] = ()
    unclear: tuple[Unclear, ...] = ()


def may_copy(gap: Gap, before: int, coming: int) -> bool:
    """Whether a target record of a gap, of a content that the source has several times, may be a copy of the gap's.

    ``before`` and ``coming`` are the source offsets of the nearest records around it that have only one: the mirror's
    place.  Between two of an earlier pass over what follows the gap it was not at the gap.
    """
    return not gap.source_to <= before < coming


def settle(gap: Gap, source: Sequence[Row], target: Sequence[Row], *, headless: bool = False) -> Settled:
    """Match what lies in a gap, both sides sorted by offset; of the target only what may be a copy.

    ``headless``: the source's log has lost its beginning, so that what precedes the first anchor in the target may be
    a copy of what is gone, and equal contents there say nothing.
    """
    known = {row.digest for row in source}
    copies = [row for row in target if row.digest in known]
    held = {row.digest for row in copies}
    records = [row for row in source if row.digest in held]
    if not records:
        return Settled()
    if not (gap.head and headless):
        inside = _embed(records, copies)
        if inside is not None:
            pairs = ((row.offset, copies[at].offset) for row, at in zip(records, inside[1], strict=True))
            return Settled(ranges=tuple(_ranges(pairs)))
        inside = _embed(copies, records)
        if inside is not None:
            return _judge(inside, copies, records)
    whole = Unclear(records[0].offset, records[-1].offset + 1, copies[0].offset, copies[-1].offset + 1, Why.SEVERAL)
    return Settled(unclear=(whole,))


def _embed(short: Sequence[Row], long: Sequence[Row]) -> tuple[list[int], list[int]] | None:
    """The first and the last index in ``long`` that each of ``short`` can have; None where they do not fit in order."""
    if len(short) > len(long):
        return None
    first: list[int] = []
    at = 0
    for row in short:
        while at < len(long) and long[at].digest != row.digest:
            at += 1
        if at == len(long):
            return None
        first.append(at)
        at += 1
    last: list[int] = []
    at = len(long) - 1
    for row in reversed(short):
        while long[at].digest != row.digest:
            at -= 1
        last.append(at)
        at -= 1
    last.reverse()
    return first, last


def _ranges(pairs: Iterable[tuple[int, int]]) -> list[MappedRange]:
    """Pairs that rise as ranges."""
    ranges: list[MappedRange] = []
    for source, target in pairs:
        last = ranges[-1] if ranges else None
        if last is not None and (source, target) == (last.source_end, last.target_end):
            ranges[-1] = MappedRange(last.source, last.target, last.length + 1)
        else:
            ranges.append(MappedRange(source, target, 1))
    return ranges


def _judge(inside: tuple[list[int], list[int]], copies: Sequence[Row], records: Sequence[Row]) -> Settled:
    """Pairs where first and last agree, unclear spans elsewhere."""
    pairs: list[tuple[int, int]] = []
    unclear: list[Unclear] = []
    for row, first, last in zip(copies, *inside, strict=True):
        low, high = records[first].offset, records[last].offset + 1
        if first == last:
            pairs.append((low, row.offset))
        elif unclear and low < unclear[-1].source_to:
            before = unclear[-1]
            unclear[-1] = before._replace(source_to=max(high, before.source_to), target_to=row.offset + 1)
        else:
            unclear.append(Unclear(low, high, row.offset, row.offset + 1, Why.SEVERAL))
    return Settled(tuple(_ranges(pairs)), tuple(unclear))
