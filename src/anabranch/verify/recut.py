"""Hold batches of both sides against each other as they are read, also such as were cut otherwise.

Where one number makes positions of target offsets, a source batch is equal if the target has the same batch there, byte
for byte; or else if it has a record at each of its positions, all of them in plain batches, with the same times and the
same bytes.  What is not equal, and what only the target has, comes out as ranges of source offsets, to be compared by
the slower reader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from anabranch.records.errors import CorruptBatchError
from anabranch.verify.contents import WholeBatch, contents
from anabranch.verify.lockstep import StoredBatch, digest_of


class ReadBatch(NamedTuple):
    """A data batch, as it is matched and as it is stored; its digest is made once it is needed."""

    stored: StoredBatch
    whole: WholeBatch

    @property
    def is_told(self) -> bool:
        """Whether its records alone tell what a consumer is given: not where the header has one time for all."""
        return self.stored.plain and not self.whole.header.is_log_append_time

    @property
    def digested(self) -> StoredBatch:
        """The batch with its digest."""
        return self.stored._replace(digest=digest_of(self.whole.section))

    def same(self, other: ReadBatch) -> bool:
        """Whether both are plain, and a consumer is given the same by both, offsets aside."""
        is_plain = self.stored.plain and other.stored.plain
        return is_plain and self.stored.same(other.stored) and self.whole.section == other.whole.section


class Recut(NamedTuple):
    """Source batches whose records are all in the target, and source ranges [from, to) of the others."""

    equal: list[StoredBatch]
    undecided: list[tuple[int, int]]


def recut(source: Sequence[ReadBatch], target: Sequence[ReadBatch], shift: int, within: tuple[int, int]) -> Recut:
    """Compare all batches that begin in a range of source offsets with target batches that lie over it.

    ``shift`` is what to subtract from target offsets; source batches are whole ones, in order and without overlap.
    """
    there = {one.stored.first - shift: one for one in target}
    found, others, taken = list[ReadBatch](), list[ReadBatch](), set[int]()
    for one in source:
        partner = there.get(one.stored.first)
        if partner is not None and one.same(partner):
            found.append(one)
            taken.add(partner.stored.first)
        else:
            others.append(one)
    if others:
        free = [one for one in target if one.is_told and one.stored.first not in taken]
        found += _equal([one for one in others if one.is_told], free, shift)
    proven = {one.stored.first for one in found}
    undecided = [(one.stored.first, one.stored.last + 1) for one in others if one.stored.first not in proven]
    covered = _covering([one.stored for one in source])
    for one in target:
        first, end = max(one.stored.first - shift, within[0]), min(one.stored.last + 1 - shift, within[1])
        if first < end and one.stored.first not in taken and covered(end) - covered(first) < end - first:
            undecided.append((first, end))
    return Recut([one.digested for one in source if one.stored.first in proven], undecided)


def _equal(source: Sequence[ReadBatch], target: Sequence[ReadBatch], shift: int) -> list[ReadBatch]:
    """The source batches that the target's batches have record by record."""
    import numpy as np

    if not source or not target:
        return []
    try:
        mine, theirs = contents([one.whole for one in source]), contents([one.whole for one in target])
    except CorruptBatchError:
        return []
    firsts = np.array([one.stored.first for one in source], dtype=np.int64)
    counts = np.array([one.whole.header.count for one in source], dtype=np.int64)
    rows = np.append(0, np.cumsum(counts))
    positions = np.concatenate([np.arange(one.stored.first, one.stored.last + 1) for one in target]) - shift
    at = np.searchsorted(positions, firsts)
    last = np.minimum(at + counts, len(positions)) - 1
    # Positions rise, so with the first and the last of a batch at this distance it has all in between.
    there = (positions[np.minimum(at, len(positions) - 1)] == firsts) & (positions[last] == firsts + counts - 1)
    follows = np.append(False, there[1:] & there[:-1] & (at[1:] == at[:-1] + counts[:-1]))
    begins = np.flatnonzero(there & ~follows).tolist()
    found: list[ReadBatch] = []
    for begin, limit in pairwise([*begins, len(source)]):
        run = begin + int(np.argmin(np.append(there[begin:limit], False)))
        waiting = [(begin, run)]
        while waiting:
            low, high = waiting.pop()
            rows_there = slice(int(at[low]), int(at[high - 1] + counts[high - 1]))
            if mine.same(slice(int(rows[low]), int(rows[high])), theirs, rows_there):
                found += source[low:high]
            elif high - low > 1:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]
    return found


def _covering(batches: Sequence[StoredBatch]) -> Callable[[int], int]:
    """How many offsets below one are in batches."""
    import numpy as np

    firsts = np.array([one.first for one in batches], dtype=np.int64)
    ends = np.array([one.last + 1 for one in batches], dtype=np.int64)
    before = np.append(0, np.cumsum(ends - firsts))

    def covered(below: int) -> int:
        at = int(firsts.searchsorted(below))
        return int(before[at]) - (max(0, int(ends[at - 1]) - below) if at else 0)

    return covered
