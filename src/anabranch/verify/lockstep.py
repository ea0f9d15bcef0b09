"""Match stored batches of both sides through the map, without decoding any of them.

Two batches are equal if the map sends the one's records to the other's without a gap, and everything a consumer
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


class StoredBatch(NamedTuple):
    """A data batch: ``plain`` is whether it is dense, outside of transactions and without a delete horizon.

    ``kind`` are the attribute bits of compression and timestamp type; ``times`` the base and the largest timestamp;
    ``digest`` is one of the stored bytes after the header.
    """

    first: int
    last: int
    plain: bool
    kind: int
    times: tuple[int, int]
    size: int
    digest: bytes

    def same(self, other: StoredBatch) -> bool:
        """Whether a consumer is given the same by both, offsets aside."""
        return self[3:] == other[3:] and self.last - self.first == other.last - other.first


class Matched(NamedTuple):
    """Sums of equal batches by chunk (both sides alike), and source ranges [from, to) that are not decided."""

    sums: dict[int, Sum]
    undecided: list[tuple[int, int]]


def match(whole: Pin, part: Pin, source: Sequence[StoredBatch], target: Sequence[StoredBatch]) -> Matched:
    """Match the batches of a part of a pin.

    A batch that straddles the end of a part belongs to it with all of its records, so ranges may reach beyond the
    part; one that straddles the beginning does, unless the part is the first of what is compared.
    """
    import numpy as np

    from anabranch.offsets.bulk import to_source_bulk, to_target_bulk

    firsts = np.array([batch.first for batch in source], dtype=np.int64)
    lasts = np.array([batch.last for batch in source], dtype=np.int64)
    target_firsts, _ = to_target_bulk(whole.ranges, firsts, records=True)
    ends, _ = to_target_bulk(whole.ranges, lasts, records=True)
    target_batches = {batch.first: batch for batch in target}
    equal: list[StoredBatch] = []
    undecided: list[tuple[int, int]] = []
    taken: set[int] = set()
    for batch, target_first, end in zip(source, target_firsts.tolist(), ends.tolist(), strict=True):
        partner = (
            target_batches.get(target_first)
            if target_first >= 0 and end - target_first == batch.last - batch.first
            else None
        )
        inside = batch.first >= whole.source_from and batch.last < whole.source_to
        if partner is not None and inside and batch.plain and partner.plain and batch.same(partner):
            equal.append(batch)
            taken.add(target_first)
        else:
            undecided.append((batch.first, batch.last + 1))
    unmatched = [batch for batch in target if batch.first not in taken]
    if unmatched:
        begins, _ = to_source_bulk(whole.ranges, np.array([batch.first for batch in unmatched], dtype=np.int64))
        finals, _ = to_source_bulk(whole.ranges, np.array([batch.last for batch in unmatched], dtype=np.int64))
        for low, high in zip(begins.tolist(), finals.tolist(), strict=True):
            first = whole.source_from if low < 0 else min(low, max(whole.source_to - 1, whole.source_from))
            last = whole.source_to if high < 0 else high + 1
            undecided.append((first, max(first + 1, last)))
    clipped = _joined(
        [(max(a, whole.source_from), min(b, max(whole.source_to, part.source_from + 1))) for a, b in undecided]
    )
    kept, ranges = _apart(equal, clipped)
    return Matched(_sums(kept), ranges)


def _apart(
    equal: list[StoredBatch], undecided: list[tuple[int, int]]
) -> tuple[list[StoredBatch], list[tuple[int, int]]]:
    """Take batches that reach into the rest out of the equal ones, until the two share no offset."""
    while True:
        if len(undecided) > MOST_RANGES:
            gaps = sorted(
                range(1, len(undecided)), key=lambda at: undecided[at][0] - undecided[at - 1][1], reverse=True
            )
            cuts = [0, *sorted(gaps[: MOST_RANGES - 1]), len(undecided)]
            undecided = [(undecided[a][0], undecided[b - 1][1]) for a, b in pairwise(cuts)]
        kept: list[StoredBatch] = []
        more: list[tuple[int, int]] = []
        at = 0
        for batch in equal:
            while at < len(undecided) and undecided[at][1] <= batch.first:
                at += 1
            if at < len(undecided) and undecided[at][0] <= batch.last:
                more.append((batch.first, batch.last + 1))
            else:
                kept.append(batch)
        if not more:
            return kept, undecided
        equal, undecided = kept, _joined(undecided + more)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted ranges without overlap; empty ones are left out."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(pair for pair in ranges if pair[0] < pair[1]):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _sums(equal: Sequence[StoredBatch]) -> dict[int, Sum]:
    """Sums of equal batches, each in the chunk that it begins in; they tell other digests than those of records."""
    sums: dict[int, Sum] = {}
    for batch in equal:
        first, second = (int.from_bytes(batch.digest[at : at + 8]) for at in (0, 8))
        first = (first + batch.first * _GOLDEN) & _WORD
        summed = Sum(batch.last - batch.first + 1, batch.size, first, second, first)
        chunk = chunk_of(batch.first)
        sums[chunk] = sums.get(chunk, NOTHING).plus(summed)
    return sums
