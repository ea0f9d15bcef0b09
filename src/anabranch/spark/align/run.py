"""One rebuild from the pinned logs to the maps; the driver sees islands, strips and gaps, and never a record.

1  digests of both sides, grouped: anchors                              one shuffle of everything
2  anchors in the target's order: islands                               one shuffle of the anchors
3  where an island is not all anchors: contents place by place          only there
4  what is left between two anchors on both sides: gaps, one by one     only there
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import RebuildSpec
from anabranch.errors import RefusedError
from anabranch.offsets.align.gaps import LARGEST, Gap, Row, Settled, Unclear, Why, settle
from anabranch.offsets.align.islands import Chain, Island, chain, fold_anchors, join_islands
from anabranch.offsets.align.lane import Aligned, Cell, Walked, assemble, cells_of, walk
from anabranch.offsets.align.places import Side, Strip, fold_places, join_strips
from anabranch.offsets.offset_map import MappedRange
from anabranch.spark.align.placing import cell_tables, gap_tables, gapped, placed
from anabranch.spark.align.rows import LaneReader, Ranges, anchors, folded, sorted_in_chunks

MOST = 1_000_000
"""Islands, strips or pieces of gaps that the driver takes in (about 200 MB)."""
_ROWS_A_TASK = 500_000
_ISLANDS = "lane int, source bigint, target bigint, length bigint, anchors bigint, single bigint"
_STRIPS = (
    "cell bigint, start bigint, last bigint, good boolean, anchor bigint, last_anchor bigint, differing bigint, "
    "sources bigint, targets bigint"
)
_SETTLED = "gap bigint, run boolean, a bigint, b bigint, c bigint, d bigint"


@dataclass(eq=False)
class TooScatteredError(RefusedError):
    """The two logs agree only in more stretches than a map can hold."""

    what: str
    most: int

    _message = "the logs agree in more than {most:,} {what} only"
    _hint = "rebuild fewer topics at once; if one alone is too much, its copy was filtered or altered throughout"


@dataclass(slots=True)
class RebuildFigures:
    """What a rebuild has seen, for people; of all its pieces together."""

    offsets: int = 0
    anchors: int = 0
    islands: int = 0
    cells: int = 0
    gaps: int = 0


@dataclass(slots=True)
class Rebuilding:
    """Make the maps of a specification; ``tell`` hears of each step when it begins."""

    spark: SparkSession
    spec: RebuildSpec
    tell: Callable[[str], None] = lambda _: None
    figures: RebuildFigures = field(default_factory=RebuildFigures)
    _parts: int = 1

    def maps(self) -> tuple[StoredMap, ...]:
        """Raises TooScatteredError."""
        reader = LaneReader(self.spark, self.spec)
        whole = reader.whole()
        offsets = sum(end - start for sides in whole.values() for start, end in sides)
        self.figures.offsets += offsets
        slots = self.spark.sparkContext.defaultParallelism
        self._parts = max(2 * slots, -(-offsets // _ROWS_A_TASK))
        self.spark.conf.set("spark.sql.shuffle.partitions", str(self._parts))
        found = anchors(reader.rows(whole)).persist(StorageLevel.DISK_ONLY)
        try:
            self.tell("anchors")
            chains = self._chains(found)
            cells = {lane: cells_of(self.spec.lanes[lane].bounds, one.kept) for lane, one in chains.items()}
            self.tell("places")
            strips = self._strips(reader, found, cells)
            walked = {
                lane: walk(self.spec.lanes[lane].bounds, mine, strips.get(lane, {})) for lane, mine in cells.items()
            }
            self.tell("gaps")
            settled = self._settle(reader, found, walked)
        finally:
            found.unpersist()
        return tuple(self._map(lane, chains[lane], walked[lane], settled.get(lane, [])) for lane in sorted(chains))

    def _map(self, lane: int, found: Chain, walked: Walked, settled: list[Settled]) -> StoredMap:
        logs = self.spec.lanes[lane]
        aligned: Aligned = assemble(logs.bounds, walked, found, settled)
        return StoredMap(logs.lane, logs.source, logs.target, aligned.ranges, logs.target_id, aligned.unclear)

    # -- islands ---------------------------------------------------------------------------------------

    def _chains(self, found: DataFrame) -> dict[int, Chain]:
        ordered = sorted_in_chunks(found.select("lane", "target", "source", "single"), self._parts, "lane", "target")
        pieces: dict[int, list[Island]] = {}
        for lane, *numbers in self._collect(folded(ordered, _fold_anchors, _ISLANDS), "islands"):
            pieces.setdefault(lane, []).append(Island(*numbers))
        chains = {}
        for lane, logs in enumerate(self.spec.lanes):
            islands = join_islands(sorted(pieces.pop(lane, ()), key=lambda one: one.target))
            self.figures.islands += len(islands)
            self.figures.anchors += sum(island.anchors for island in islands)
            chains[lane] = chain(islands, headless=logs.bounds.headless)
        return chains

    # -- places ----------------------------------------------------------------------------------------

    def _strips(
        self, reader: LaneReader, found: DataFrame, cells: Mapping[int, tuple[Cell, ...]]
    ) -> dict[int, dict[int, list[Strip]]]:
        """By lane and index of the cell."""
        numbered = [(lane, at) for lane, mine in cells.items() for at, one in enumerate(mine) if one.look]
        if not numbered:
            return {}
        self.figures.cells += len(numbered)
        looked: dict[int, list[tuple[int, Cell]]] = {}
        for number, (lane, at) in enumerate(numbered):
            looked.setdefault(lane, []).append((number, cells[lane][at]))
        ranges: Ranges = {
            lane: (
                (mine[0][1].source, mine[-1][1].source + mine[-1][1].length),
                (mine[0][1].target, mine[-1][1].target + mine[-1][1].length),
            )
            for lane, mine in looked.items()
        }
        marks = found.select(
            "lane",
            sql.lit(int(Side.ANCHOR)).alias("side"),
            sql.col("target").alias("offset"),
            sql.col("source").alias("first"),
            sql.lit(0).cast("bigint").alias("second"),
        )
        rows = placed(reader.rows(ranges).unionAll(marks), cell_tables(looked))
        ordered = sorted_in_chunks(rows, self._parts, "cell", "place", "side")
        pieces = sorted(
            (number, Strip(*rest))
            for number, *rest in self._collect(folded(ordered, _fold_places, _STRIPS, keys=2), "stretches")
        )
        strips: dict[int, dict[int, list[Strip]]] = {}
        for number, mine in groupby(pieces, key=lambda one: one[0]):
            lane, at = numbered[number]
            strips.setdefault(lane, {})[at] = join_strips(strip for _, strip in mine)
        return strips

    # -- gaps ------------------------------------------------------------------------------------------

    def _settle(self, reader: LaneReader, found: DataFrame, walked: Mapping[int, Walked]) -> dict[int, list[Settled]]:
        gaps: dict[int, list[tuple[int, Gap]]] = {}
        flat: list[tuple[int, Gap]] = []
        for lane, one in walked.items():
            for gap in one.gaps:
                gaps.setdefault(lane, []).append((len(flat), gap))
                flat.append((lane, gap))
        self.figures.gaps += len(flat)
        if not flat:
            return {}
        ranges: Ranges = {
            lane: (
                (mine[0][1].source_from, mine[-1][1].source_to),
                (mine[0][1].target_from, mine[-1][1].target_to),
            )
            for lane, mine in gaps.items()
        }
        rows = self._matching(gapped(reader.rows(ranges), gap_tables(gaps)), found, gaps)
        rows = rows.persist(StorageLevel.DISK_ONLY)
        try:
            large = self._too_large(rows, flat)
            if large:
                rows = rows.where(~sql.col("gap").isin(sorted(large)))
            headless = [self.spec.lanes[lane].bounds.headless for lane, _ in flat]
            fold = partial(_fold_gaps, gaps=[gap for _, gap in flat], headless=headless)
            ordered = rows.repartition(self._parts, "gap").sortWithinPartitions("gap", "side", "offset")
            pieces = self._collect(folded(ordered, fold, _SETTLED, keys=1), "pieces")
        finally:
            rows.unpersist()
        settled: dict[int, list[Settled]] = {}
        for number, is_run, *numbers in pieces:
            lane = flat[number][0]
            part = (
                Settled(ranges=(MappedRange(*numbers[:3]),))
                if is_run
                else Settled(unclear=(Unclear(numbers[0], numbers[1], numbers[2], numbers[3], Why.SEVERAL),))
            )
            settled.setdefault(lane, []).append(part)
        for number in large:
            lane, gap = flat[number]
            settled.setdefault(lane, []).append(Settled(unclear=(gap.unclear(Why.LARGE),)))
        return settled

    def _matching(self, rows: DataFrame, found: DataFrame, gaps: Mapping[int, list[tuple[int, Gap]]]) -> DataFrame:
        """(gap, side, offset, first, second) of what is on both sides of a gap and may be a copy there."""
        ends = self.spark.createDataFrame(
            [(at, gap.source_from - 1, gap.source_to) for mine in gaps.values() for at, gap in mine],
            "gap bigint, before bigint, beyond bigint",
        )
        known = found.select("lane", "first", "second", "source")
        is_source = sql.col("side") == int(Side.SOURCE)
        copies = rows.where(~is_source).join(known, ["lane", "first", "second"], "left").join(ends, "gap")
        order = Window.partitionBy("gap").orderBy("offset")
        earlier = order.rowsBetween(Window.unboundedPreceding, -1)
        later = order.rowsBetween(1, Window.unboundedFollowing)
        before = sql.coalesce(sql.last("source", ignorenulls=True).over(earlier), sql.col("before"))
        coming = sql.coalesce(sql.first("source", ignorenulls=True).over(later), sql.col("beyond"))
        # As ``may_copy`` has it.
        apart = (before >= sql.col("beyond")) & (before < coming)
        copies = copies.withColumn("apart", apart).where(sql.col("source").isNull() & ~sql.col("apart"))
        keys = ["gap", "first", "second"]
        copies = copies.select("gap", "side", "offset", "first", "second")
        records = rows.where(is_source).select("gap", "side", "offset", "first", "second")
        held = records.join(copies.select(*keys), keys, "left_semi").select(*records.columns)
        return held.unionAll(copies.join(held.select(*keys), keys, "left_semi").select(*records.columns))

    def _too_large(self, rows: DataFrame, flat: list[tuple[int, Gap]]) -> set[int]:
        if all(max(gap.source_to - gap.source_from, gap.target_to - gap.target_from) <= LARGEST for _, gap in flat):
            return set()
        counted = rows.groupBy("gap", "side").count().where(sql.col("count") > LARGEST)
        return {row[0] for row in self._collect(counted.select("gap"), "gaps")}

    def _collect(self, frame: DataFrame, what: str) -> list[tuple[Any, ...]]:
        table = frame.limit(MOST + 1).toArrow()
        if table.num_rows > MOST:
            raise TooScatteredError(what, MOST)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _fold_anchors(batch: pa.RecordBatch) -> Iterator[tuple[int, ...]]:
    for lane, island in fold_anchors(*(column.to_numpy() for column in batch.columns)):
        yield lane, *island


def _fold_places(batch: pa.RecordBatch) -> Iterator[tuple[int, ...]]:
    for cell, strip in fold_places(*(column.to_numpy() for column in batch.columns)):
        yield cell, *strip


def _fold_gaps(batch: pa.RecordBatch, gaps: list[Gap], headless: list[bool]) -> Iterator[tuple[int, ...]]:
    """Runs as (gap, true, source, target, length, 0) and unclear stretches as (gap, false, offsets)."""
    import numpy as np

    numbers = batch.column(0).to_numpy()
    edges = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), len(numbers)]
    sides, offsets, firsts, seconds = (column.to_pylist() for column in batch.columns[1:])
    for start, end in pairwise(edges):
        both: tuple[list[Row], list[Row]] = ([], [])
        for at in range(start, end):
            both[sides[at]].append(Row(offsets[at], (firsts[at], seconds[at])))
        number = int(numbers[start])
        found = settle(gaps[number], *both, headless=headless[number])
        for run in found.ranges:
            yield number, True, run.source, run.target, run.length, 0
        for one in found.unclear:
            yield number, False, *one[:4]
