"""Records of both sides as rows of digests: lane, side, offset and the two halves of ``spark.verify.scan``'s digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from anabranch.config.rebuildspec import LaneLogs, RebuildSpec, RecordPart
from anabranch.model.topics import TopicPartition
from anabranch.offsets.align.islands import CHUNK_BITS
from anabranch.offsets.align.places import Side
from anabranch.spark.verify import scan
from anabranch.spark.verify.options import options

SCHEMA = "lane int, side int, offset bigint, first bigint, second bigint"
Ranges = Mapping[int, tuple[tuple[int, int], tuple[int, int]]]
"""By lane: offsets of the source, and of the target, each ``[start, end)``."""


class LaneReader:
    """Reads ranges of the pinned lanes; lanes are numbered as the specification has them."""

    def __init__(self, spark: SparkSession, spec: RebuildSpec) -> None:
        self.spark = spark
        self._spec = spec
        self._options = (options(spec.source), options(spec.target))
        self._slots = spark.sparkContext.defaultParallelism

    def whole(self) -> Ranges:
        """Everything that is pinned."""
        return {
            at: ((one.bounds.source_start, one.bounds.source_end), (one.bounds.target_start, one.bounds.target_end))
            for at, one in enumerate(self._spec.lanes)
        }

    def rows(self, ranges: Ranges) -> DataFrame:
        """The digests of what a read-committed consumer sees in these ranges."""
        frames = [frame for side in (Side.SOURCE, Side.TARGET) if (frame := self._side(side, ranges)) is not None]
        if not frames:
            return self.spark.createDataFrame([], SCHEMA)
        return reduce(DataFrame.unionAll, frames)

    def _side(self, side: Side, ranges: Ranges) -> DataFrame | None:
        found = [scan.OffsetRange(self._where(side, self._spec.lanes[lane]), *ranges[lane][side]) for lane in ranges]
        records = scan.read(self.spark, self._options[side], found, scan.COMMITTED, self._slots)
        if records is None:
            return None
        if RecordPart.TIMESTAMPS in self._spec.ignore:
            records = records.withColumn("timestamp", sql.timestamp_micros(sql.lit(0)))
        if RecordPart.HEADERS in self._spec.ignore:
            records = records.withColumn("headers", sql.lit(None).cast(records.schema["headers"].dataType))
        return records.select(
            self._number(side).alias("lane"),
            sql.lit(int(side)).alias("side"),
            "offset",
            scan.first().alias("first"),
            scan.second().alias("second"),
        )

    def _number(self, side: Side) -> Column:
        """A lane's number by its topic and partition."""
        numbers = {(where.topic, where.partition): at for at, where in enumerate(self._partitions(side))}
        topics: dict[str, dict[int, int]] = {}
        for (topic, partition), at in numbers.items():
            topics.setdefault(topic, {})[partition] = at
        known = _literal({topic: _literal(parts) for topic, parts in topics.items()})
        return known[sql.col("topic")][sql.col("partition")]

    def _partitions(self, side: Side) -> Sequence[TopicPartition]:
        return [self._where(side, lane) for lane in self._spec.lanes]

    @staticmethod
    def _where(side: Side, one: LaneLogs) -> TopicPartition:
        return one.source if side is Side.SOURCE else one.target


def _literal(values: Mapping[str, Column] | Mapping[int, int]) -> Column:
    pairs = ((sql.lit(key), value if isinstance(value, Column) else sql.lit(value)) for key, value in values.items())
    return sql.create_map(*chain.from_iterable(pairs))


def anchors(rows: DataFrame) -> DataFrame:
    """(lane, target, source, single, first, second) of each content that the source has once, with its last copy."""
    is_source = sql.col("side") == int(Side.SOURCE)
    counted = rows.groupBy("lane", "first", "second").agg(
        sql.sum(sql.when(is_source, 1).otherwise(0)).alias("sources"),
        sql.sum(sql.when(is_source, 0).otherwise(1)).alias("targets"),
        sql.max(sql.when(is_source, sql.col("offset"))).alias("source"),
        sql.max(sql.when(~is_source, sql.col("offset"))).alias("target"),
    )
    return counted.where((sql.col("sources") == 1) & (sql.col("targets") > 0)).select(
        "lane", "target", "source", (sql.col("targets") == 1).cast("bigint").alias("single"), "first", "second"
    )


def sorted_in_chunks(rows: DataFrame, parts: int, group: str, place: str, *then: str) -> DataFrame:
    """The rows sorted by group and place inside of chunks of places, so that one long lane keeps all tasks busy."""
    chunk = sql.shiftright(sql.col(place), CHUNK_BITS)
    return rows.repartition(parts, sql.col(group), chunk).sortWithinPartitions(group, place, *then)


Fold = Callable[[pa.RecordBatch], Iterator[tuple[int, ...]]]


def folded(rows: DataFrame, fold: Fold, schema: str, keys: int = 0) -> DataFrame:
    """What a fold makes of each batch of sorted rows; rows that agree in the first ``keys`` columns stay together."""
    types = _arrow(schema)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: pa.RecordBatch | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            whole = batch if held is None else _joined(held, batch)
            cut = _last_group(whole, keys) if keys else whole.num_rows
            held = whole.slice(cut) if cut < whole.num_rows else None
            if cut:
                yield _batch(list(fold(whole.slice(0, cut))), types)
        if held is not None:
            yield _batch(list(fold(held)), types)

    return rows.mapInArrow(work, schema)


def _joined(held: pa.RecordBatch, batch: pa.RecordBatch) -> pa.RecordBatch:
    (joined,) = pa.Table.from_batches([held, batch]).combine_chunks().to_batches()
    return joined


def _last_group(batch: pa.RecordBatch, keys: int) -> int:
    """Where the rows that agree with the last one begin."""
    import numpy as np

    other = np.zeros(batch.num_rows, dtype=bool)
    for at in range(keys):
        column = batch.column(at).to_numpy()
        other |= column != column[-1]
    found = np.flatnonzero(other)
    return int(found[-1]) + 1 if len(found) else 0


def _arrow(schema: str) -> pa.Schema:
    kinds = {"int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_()}
    return pa.schema([(name, kinds[kind]) for name, kind in (one.split() for one in schema.split(", "))])


def _batch(found: Sequence[tuple[int, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*found, strict=True) if found else ([] for _ in schema)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
