"""Hold batches of both sides against each other that were cut otherwise, record by record.

Where one number makes positions of target offsets, a source batch is equal if the target has a record at each of its
positions, all of them in plain batches, with the same times and the same bytes.  What is not equal, and what only the
target has, comes out as ranges of source offsets, to be compared by the slower reader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from anabranch.records.errors import CorruptBatchError
from anabranch.verify.contents import WholeBatch, contents
from anabranch.verify.lockstep import StoredBatch


class ReadBatch(NamedTuple):
    """A data batch, as it is matched and as it is stored."""

    stored: StoredBatch
    whole: WholeBatch

    @property
    def is_told(self) -> bool:
        """Whether its records alone tell what a consumer is given: not where the header has one time for all."""
        return self.stored.plain and not self.whole.header.is_log_append_time


class Recut(NamedTuple):
    """Source batches whose records are all in the target, and source ranges [from, to) of the others."""

    equal: list[StoredBatch]
    undecided: list[tuple[int, int]]


def recut(source: Sequence[ReadBatch], target: Sequence[ReadBatch], shift: int, within: tuple[int, int]) -> Recut:
    """Compare all batches that begin in a range of source offsets with target batches that lie over it.

    ``shift`` is what to subtract from target offsets; source batches are whole ones, in order and without overlap.
    """
    found = _equal([one for one in source if one.is_told], [one for one in target if one.is_told], shift)
    proven = {one.first for one in found}
    undecided = [(one.stored.first, one.stored.last + 1) for one in source if one.stored.first not in proven]
    covered = _covering([one.stored for one in source])
    for one in target:
        first, end = max(one.stored.first - shift, within[0]), min(one.stored.last + 1 - shift, within[1])
        if first < end and covered(end) - covered(first) < end - first:
            undecided.append((first, end))
    return Recut(found, undecided)


def _equal(source: Sequence[ReadBatch], target: Sequence[ReadBatch], shift: int) -> list[StoredBatch]:
    """The plain source batches that the target's plain batches have record by record."""
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
    found: list[StoredBatch] = []
    for begin, limit in pairwise([*begins, len(source)]):
        run = begin + int(np.argmin(np.append(there[begin:limit], False)))
        waiting = [(begin, run)]
        while waiting:
            low, high = waiting.pop()
            rows_there = slice(int(at[low]), int(at[high - 1] + counts[high - 1]))
            if mine.same(slice(int(rows[low]), int(rows[high])), theirs, rows_there):
                found += [one.stored for one in source[low:high]]
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
