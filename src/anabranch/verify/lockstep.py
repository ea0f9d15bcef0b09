"""Batches of both sides as they are stored, matched through the map without decoding any of them.

Two batches are equal where the map sends the one's records to the other's without a gap, and everything a consumer
could see of them is equal: how many records, the compression, whose clock the timestamps are from, the first and the
largest timestamp, and the stored bytes of their records.  The rest (other boundaries, transactions of the target,
compacted batches, anything in doubt) comes out as ranges of source offsets, to be compared as records.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from anabranch.verify.pins import Pin, chunk_of
from anabranch.verify.sums import NOTHING, Sum

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
MOST_RANGES = 8
"""Ranges of a part that are compared as records; more are joined, with what lies between them."""


class Stored(NamedTuple):
    """A data batch: ``plain`` is whether it is dense, outside of transactions and without a delete horizon.

    ``kind`` are the attribute bits of compression and timestamp type; ``times`` the base and the largest timestamp;
    ``digest`` is one of the stored bytes behind the header.
    """

    first: int
    last: int
    plain: bool
    kind: int
    times: tuple[int, int]
    size: int
    digest: bytes

    def same(self, other: Stored) -> bool:
        """Whether a consumer is given the same by both, offsets aside."""
        return self[3:] == other[3:] and self.last - self.first == other.last - other.first


class Matched(NamedTuple):
    """Sums of equal batches by chunk (both sides alike), and source ranges [from, to) that are not decided."""

    sums: dict[int, Sum]
    rest: list[tuple[int, int]]


def match(whole: Pin, part: Pin, source: Sequence[Stored], target: Sequence[Stored]) -> Matched:
    """Match the batches of a part of a pin.

    A batch that straddles the end of a part belongs to it with all of its records, so ranges may reach beyond the
    part; one that straddles the beginning does, unless the part is the first of what is compared.
    """
    import numpy as np

    from anabranch.offsets.bulk import to_source_bulk, to_target_bulk

    firsts = np.array([one.first for one in source], dtype=np.int64)
    lasts = np.array([one.last for one in source], dtype=np.int64)
    places, _ = to_target_bulk(whole.runs, firsts, records=True)
    ends, _ = to_target_bulk(whole.runs, lasts, records=True)
    theirs = {one.first: one for one in target}
    equal: list[Stored] = []
    rest: list[tuple[int, int]] = []
    taken: set[int] = set()
    for one, place, end in zip(source, places.tolist(), ends.tolist(), strict=True):
        mate = theirs.get(place) if place >= 0 and end - place == one.last - one.first else None
        inside = one.first >= whole.source_from and one.last < whole.source_to
        if mate is not None and inside and one.plain and mate.plain and one.same(mate):
            equal.append(one)
            taken.add(place)
        else:
            rest.append((one.first, one.last + 1))
    lonely = [one for one in target if one.first not in taken]
    if lonely:
        begins, _ = to_source_bulk(whole.runs, np.array([one.first for one in lonely], dtype=np.int64))
        finals, _ = to_source_bulk(whole.runs, np.array([one.last for one in lonely], dtype=np.int64))
        for low, high in zip(begins.tolist(), finals.tolist(), strict=True):
            first = whole.source_from if low < 0 else min(low, max(whole.source_to - 1, whole.source_from))
            last = whole.source_to if high < 0 else high + 1
            rest.append((first, max(first + 1, last)))
    clipped = _joined(
        [(max(a, whole.source_from), min(b, max(whole.source_to, part.source_from + 1))) for a, b in rest]
    )
    kept, ranges = _apart(equal, clipped)
    return Matched(_sums(kept), ranges)


def _apart(equal: list[Stored], rest: list[tuple[int, int]]) -> tuple[list[Stored], list[tuple[int, int]]]:
    """Take batches that reach into the rest out of the equal ones, until the two share no offset."""
    while True:
        if len(rest) > MOST_RANGES:
            gaps = sorted(range(1, len(rest)), key=lambda at: rest[at][0] - rest[at - 1][1], reverse=True)
            cuts = [0, *sorted(gaps[: MOST_RANGES - 1]), len(rest)]
            rest = [(rest[a][0], rest[b - 1][1]) for a, b in pairwise(cuts)]
        kept: list[Stored] = []
        more: list[tuple[int, int]] = []
        at = 0
        for one in equal:
            while at < len(rest) and rest[at][1] <= one.first:
                at += 1
            if at < len(rest) and rest[at][0] <= one.last:
                more.append((one.first, one.last + 1))
            else:
                kept.append(one)
        if not more:
            return kept, rest
        equal, rest = kept, _joined(rest + more)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted ranges without overlap; empty ones are left out."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(one for one in ranges if one[0] < one[1]):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _sums(equal: Sequence[Stored]) -> dict[int, Sum]:
    """Sums of equal batches, each in the chunk that it begins in; they tell other digests than those of records."""
    sums: dict[int, Sum] = {}
    for one in equal:
        first, second = (int.from_bytes(one.digest[at : at + 8]) for at in (0, 8))
        first = (first + one.first * _GOLDEN) & _WORD
        summed = Sum(one.last - one.first + 1, one.size, first, second, first)
        chunk = chunk_of(one.first)
        sums[chunk] = sums.get(chunk, NOTHING).plus(summed)
    return sums
