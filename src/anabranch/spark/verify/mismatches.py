"""The records of both sides that contradict the map, found by a join of digests; contents stay in the JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from anabranch.spark.verify import scan
from anabranch.spark.verify.folding import LaneTranslations, places, positions
from anabranch.verify import past

_COLUMNS = ("lane", "offset", "place", "position", "first", "second", "key", "value", "headers", "time")
_DETAILED = ", ".join(["lane int", *(f"{name} bigint" for name in _COLUMNS[1:]), "keyed boolean", "deletes boolean"])
_KEYED = "lane int, offset bigint, place bigint, key bigint, deletes boolean"
_DETAILS = ("first", "second", "key", "value", "headers", "time")


@dataclass(frozen=True, slots=True)
class Mismatches:
    """What a join finds: the records of both sides without their equal, and records that one isolation level hides."""

    rows: DataFrame
    hidden: DataFrame


def detailed(rows: DataFrame, lanes: LaneTranslations, translate: bool) -> DataFrame:
    """Each record with its lane, its place on the other side, its source position, and a digest of each part."""
    columns = rows.select(
        scan.here().alias("here"),
        "partition",
        "offset",
        scan.first().alias("first"),
        scan.second().alias("second"),
        scan.part("key").alias("key"),
        scan.part("value").alias("value"),
        scan.headers_part().alias("headers"),
        sql.unix_micros("timestamp").alias("time"),
        sql.col("key").isNotNull().alias("keyed"),
        sql.col("value").isNull().alias("deletes"),
    )
    return columns.mapInArrow(_placer(lanes, translate), _DETAILED)


def nothing(spark: SparkSession) -> DataFrame:
    """What ``detailed`` gives of no records."""
    return spark.createDataFrame([], _DETAILED)


PastLanes = Mapping[tuple[str, int], tuple[int, past.PastPin]]
"""A lane's number and what is known of it past its pin, by topic and partition of one side."""


def keyed(rows: DataFrame, lanes: PastLanes, of_target: bool) -> DataFrame:
    """Each record with its lane, its place by what the lane copied past the pin too, and its key's digest."""
    columns = rows.select(
        scan.here().alias("here"),
        "partition",
        "offset",
        scan.part("key").alias("key"),
        sql.col("value").isNull().alias("deletes"),
    )
    return columns.mapInArrow(_past_placer(lanes, of_target), _KEYED)


def no_keys(spark: SparkSession) -> DataFrame:
    """What ``keyed`` gives of no records."""
    return spark.createDataFrame([], _KEYED)


def _past_placer(lanes: PastLanes, of_target: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        found = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if found is None:
                found = lanes[(batch.column(0)[0].as_py(), batch.column(1)[0].as_py())]
            lane, known = found
            where = past.places(known, batch.column(2).to_numpy(), of_target)
            own = np.full(batch.num_rows, lane, dtype=np.int32)
            yield pa.RecordBatch.from_arrays(
                [pa.array(own), batch.column(2), pa.array(where), *batch.columns[3:]],
                names=["lane", "offset", "place", "key", "deletes"],
            )

    return work


def _placer(lanes: LaneTranslations, translate: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        translation = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if translation is None:
                translation = lanes[(batch.column(0)[0].as_py(), batch.column(1)[0].as_py())]
            offsets = batch.column(2).to_numpy()
            where = places(translation, offsets, translate)
            behind = positions(translation, offsets) if translate else offsets
            own = np.full(len(offsets), translation.lane, dtype=np.int32)
            yield pa.RecordBatch.from_arrays(
                [pa.array(own), batch.column(2), pa.array(where), pa.array(behind), *batch.columns[3:]],
                names=[*_COLUMNS, "keyed", "deletes"],
            )

    return work


def join(source: DataFrame, target: DataFrame, committed: DataFrame | None) -> Mismatches:
    """Hold the sides against each other at their places.

    ``committed`` are (lane, offset) of the target's records that a read-committed consumer sees, None to leave out
    visibility.
    """
    if committed is None:
        target = target.withColumn("visible", sql.lit(True))
    else:
        seen = committed.select("lane", "offset", sql.lit(True).alias("visible"))
        target = target.join(seen, ["lane", "offset"], "left").fillna(False, ["visible"])
    ours, theirs = source.alias("s"), target.alias("t")
    both = ours.join(
        theirs, (sql.col("s.lane") == sql.col("t.lane")) & (sql.col("s.offset") == sql.col("t.place")), "full_outer"
    )
    same = sql.coalesce(
        (sql.col("s.first") == sql.col("t.first")) & (sql.col("s.second") == sql.col("t.second")), sql.lit(False)
    )
    apart = both.where(~same)
    hidden = both.where(same & ~sql.col("t.visible")).select("s.lane", "s.offset", sql.col("t.offset").alias("copy"))

    def side(name: str, other: str, is_target: bool) -> DataFrame:
        return apart.where(sql.col(f"{name}.lane").isNotNull()).select(
            f"{name}.lane",
            sql.lit(is_target).alias("target"),
            f"{name}.offset",
            f"{name}.place",
            f"{name}.position",
            *(f"{name}.{detail}" for detail in _DETAILS),
            f"{name}.keyed",
            sql.col(f"{other}.lane").isNotNull().alias("mated"),
        )

    return Mismatches(side("s", "t", False).unionAll(side("t", "s", True)), hidden)
