"""The positions of ``translate`` for millions of offsets at once, on NumPy arrays.

NumPy is imported when a function here is called, so that the bare install does without it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from anabranch.offsets.offset_map import OffsetMap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]
    Kinds = NDArray[np.int8]

NOWHERE = -1
"""What stands in place of an offset where there is no exact one."""


class Kind(IntEnum):
    """What an answer is, as a number in an array."""

    EXACT = 0
    BEFORE = 1
    AFTER = 2
    UNMAPPED = 3


def to_target_bulk(ranges: OffsetMap, offsets: Offsets, *, records: bool = False) -> tuple[Offsets, Kinds]:
    """Return what ``to_target`` says of each int64 source offset, as (offsets, kinds) of the same shape.

    With ``records``, what ``record_to_target`` says.  Where the kind is not EXACT the offset is -1.
    """
    sources, targets, lengths = ranges.columns()
    return _translate(
        (sources, targets, lengths),
        offsets,
        (ranges.source_start, ranges.source_end),
        ranges.target_end,
        records=records,
    )


def to_source_bulk(ranges: OffsetMap, offsets: Offsets, *, records: bool = False) -> tuple[Offsets, Kinds]:
    """Return what ``to_source`` says of each int64 target offset, as (offsets, kinds) of the same shape.

    With ``records``, what ``record_to_source`` says.  Where the kind is not EXACT the offset is -1.
    """
    sources, targets, lengths = ranges.columns()
    return _translate(
        (targets, sources, lengths),
        offsets,
        (ranges.target_start, ranges.target_end),
        ranges.source_end,
        records=records,
    )


def _translate(
    columns: tuple[object, object, object],
    offsets: Offsets,
    bounds: tuple[int, int],
    other_end: int,
    *,
    records: bool,
) -> tuple[Offsets, Kinds]:
    """Translate from the side of the first column to that of the second."""
    import numpy as np

    here, there, lengths = (np.asarray(column, dtype=np.int64) for column in columns)
    start, end = bounds
    # A closing run of no records at the ends makes "the next run" exist for every offset.
    there_next = np.append(there, other_end)
    offsets = np.asarray(offsets, dtype=np.int64)
    index = np.searchsorted(here, offsets, side="right") - 1
    if len(here):
        own = np.maximum(index, 0)
        within = offsets - here[own]
        inside = (index >= 0) & (within < lengths[own])
        result = np.where(inside, there[own] + within, there_next[index + 1])
    else:
        inside = np.zeros(offsets.shape, dtype=bool)
        result = there_next[index + 1]
    kinds = np.full(offsets.shape, Kind.EXACT, dtype=np.int8)
    if records:
        kinds[~inside] = Kind.UNMAPPED
        kinds[offsets == end] = Kind.AFTER
    kinds[offsets < start] = Kind.BEFORE
    kinds[offsets > end] = Kind.AFTER
    return np.where(kinds == Kind.EXACT, result, NOWHERE), kinds
