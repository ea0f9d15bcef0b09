"""Rows at their places: which cell or gap a record lies in, told in Python tasks from small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from anabranch.offsets.align.gaps import Gap
from anabranch.offsets.align.lane import Cell
from anabranch.offsets.align.places import Side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

PLACED = "cell bigint, place bigint, side int, first bigint, second bigint"
GAPPED = "lane int, gap bigint, side int, offset bigint, first bigint, second bigint"


class RangeTable(NamedTuple):
    """Ranges of one lane, sorted: where each begins and ends on both sides, and its number."""

    sources: Any
    source_ends: Any
    targets: Any
    target_ends: Any
    numbers: Any


def cell_tables(cells: Mapping[int, Sequence[tuple[int, Cell]]]) -> dict[int, RangeTable]:
    """Tables of numbered cells by lane."""
    return {
        lane: _table(
            (one.source, one.source + one.length, one.target, one.target + one.length, at) for at, one in found
        )
        for lane, found in cells.items()
    }


def gap_tables(gaps: Mapping[int, Sequence[tuple[int, Gap]]]) -> dict[int, RangeTable]:
    """Tables of numbered gaps by lane."""
    return {
        lane: _table((one.source_from, one.source_to, one.target_from, one.target_to, at) for at, one in found)
        for lane, found in gaps.items()
    }


def _table(rows: Iterator[tuple[int, ...]]) -> RangeTable:
    import numpy as np

    return RangeTable(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def placed(rows: DataFrame, tables: Mapping[int, RangeTable]) -> DataFrame:
    """The rows of all sides that lie in a cell, with their places; an anchor's ``offset`` is the target's and its
    ``first`` the source's."""

    def find(table: RangeTable, sides: Longs, offsets: Longs, firsts: Longs) -> tuple[Longs, Longs]:
        import numpy as np

        is_source = sides == Side.SOURCE
        where, inside = _find(table, is_source, offsets)
        shift = table.targets[where] - table.sources[where]
        inside &= (sides != Side.ANCHOR) | (offsets - firsts == shift)
        return np.where(is_source, offsets + shift, offsets), np.where(inside, table.numbers[where], -1)

    return rows.mapInArrow(_mapper(dict(tables), find, PLACED, with_lane=False), PLACED)


def gapped(rows: DataFrame, tables: Mapping[int, RangeTable]) -> DataFrame:
    """The rows of both sides that lie in a gap."""

    def find(table: RangeTable, sides: Longs, offsets: Longs, firsts: Longs) -> tuple[Longs, Longs]:  # noqa: ARG001
        import numpy as np

        where, inside = _find(table, sides == Side.SOURCE, offsets)
        return offsets, np.where(inside, table.numbers[where], -1)

    return rows.mapInArrow(_mapper(dict(tables), find, GAPPED, with_lane=True), GAPPED)


def _find(table: RangeTable, is_source: Any, offsets: Longs) -> tuple[Any, Any]:
    """The index of the range that each offset lies in, and whether it does."""
    import numpy as np

    found = np.where(
        is_source,
        np.searchsorted(table.sources, offsets, side="right"),
        np.searchsorted(table.targets, offsets, side="right"),
    )
    where = np.maximum(found - 1, 0)
    ends = np.where(is_source, table.source_ends[where], table.target_ends[where])
    return where, (found > 0) & (offsets < ends)


Find = Callable[[RangeTable, Any, Any, Any], tuple[Any, Any]]


def _mapper(
    tables: Mapping[int, RangeTable], find: Find, schema: str, *, with_lane: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    names = [one.split()[0] for one in schema.split(", ")]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        for batch in batches:
            if not batch.num_rows:
                continue
            lanes, sides, offsets, firsts, _ = (column.to_numpy() for column in batch.columns)
            numbers = np.full(len(lanes), -1, dtype=np.int64)
            places = np.zeros(len(lanes), dtype=np.int64)
            for lane in np.unique(lanes).tolist():
                if lane in tables:
                    mine = np.flatnonzero(lanes == lane)
                    places[mine], numbers[mine] = find(tables[lane], sides[mine], offsets[mine], firsts[mine])
            taken = pa.array(numbers >= 0)
            columns = [pa.array(numbers), pa.array(places), batch.column(1), batch.column(3), batch.column(4)]
            if with_lane:
                columns = [batch.column(0), columns[0], columns[2], columns[1], *columns[3:]]
            yield pa.RecordBatch.from_arrays(columns, names=names).filter(taken)

    return work
