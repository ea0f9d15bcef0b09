"""Match stored batches of both sides through the map, without decoding any of them.

Two batches are equal if the map sends the one's records to the other's without a gap, and everything a consumer
could see of them is equal: how many records, the compression, whose clock the timestamps are from, the first and the
largest timestamp, and the stored bytes of their records.  The rest (other boundaries, transactions of the target,
compacted batches, anything in doubt) comes out as ranges of source offsets, to be compared as records.
"""

from __future__ import annotations

import hashlib
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


def digest_of(section: bytes | memoryview) -> bytes:
    """The digest of a batch's bytes after its header."""
    return hashlib.sha256(section).digest()[:16]


class Matched(NamedTuple):
    """Equal batches of a part, and its source ranges [from, to) that are not decided; no offset is in both.

    ``reach`` is where the last source batch that begins in the part ends, or the part, if that is further: up to there
    all that the part has is decided or undecided.
    """

    equal: list[StoredBatch]
    undecided: list[tuple[int, int]]
    reach: int

    @property
    def sums(self) -> dict[int, Sum]:
        """The sums of equal batches by chunk, both sides alike."""
        return sums(self.equal)


def match(whole: Pin, part: Pin, source: Sequence[StoredBatch], target: Sequence[StoredBatch]) -> Matched:
    """Match the batches of a part of a pin.

    A source batch belongs to the part in which it begins with all of its records, so what is told may lie beyond the
    part.  Of one that begins before it the part tells its own offsets, as undecided: the part before, if there is one,
    tells by its ``reach`` which of them are taken (``Reached``).
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
        inside = batch.first >= part.source_from and batch.last < whole.source_to
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
    ended = max((batch.last + 1 for batch in source if batch.first < part.source_to), default=part.source_to)
    reach = max(part.source_to, min(ended, whole.source_to))
    kept, ranges = apart(equal, undecided, (part.source_from, max(reach, part.source_from + 1)))
    return Matched(kept, ranges, reach)


def apart(
    equal: Sequence[StoredBatch], undecided: Sequence[tuple[int, int]], within: tuple[int, int]
) -> tuple[list[StoredBatch], list[tuple[int, int]]]:
    """Take batches that reach into the rest out of the equal ones, until the two share no offset.

    Both are sorted, and of the rest only what lies ``within``; it is at most ``MOST_RANGES`` ranges.
    """
    equal = sorted(equal)
    undecided = _joined([(max(first, within[0]), min(last, within[1])) for first, last in undecided])
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


def sums(equal: Sequence[StoredBatch]) -> dict[int, Sum]:
    """Sums of equal batches, each in the chunk that it begins in; they tell other digests than those of records."""
    found: dict[int, Sum] = {}
    for batch in equal:
        first, second = (int.from_bytes(batch.digest[at : at + 8]) for at in (0, 8))
        first = (first + batch.first * _GOLDEN) & _WORD
        summed = Sum(batch.last - batch.first + 1, batch.size, first, second, first)
        chunk = chunk_of(batch.first)
        found[chunk] = found.get(chunk, NOTHING).plus(summed)
    return found


class Reached:
    """How far each lane is decided or undecided, part by part; parts of a lane are taken in order.

    Invariant: what is left of ranges is in none that was taken before, and in no equal batch of an earlier part.
    """

    def __init__(self) -> None:
        self._reach: dict[int, int] = {}

    def rest(self, lane: int, undecided: Sequence[tuple[int, int]], reach: int) -> list[tuple[int, int]]:
        """What is undecided of a lane's next part, without what the part before has told."""
        before = self._reach.get(lane, 0)
        self._reach[lane] = max(before, reach)
        clipped = [(max(first, before), last) for first, last in undecided]
        return [one for one in clipped if one[0] < one[1]]
