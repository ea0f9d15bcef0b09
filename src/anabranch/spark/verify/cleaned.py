"""Which strays a log cleaner may have taken from the other side: by the newest records of their keys on both sides."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

Compacts = Mapping[int, tuple[bool, bool]]
"""By lane: whether the source's log is compacted, and whether the target's is."""


def candidates(strays: DataFrame, compacts: Compacts) -> DataFrame:
    """(lane, key) of strays whose counterpart is absent from a compacted log."""
    return strays.where(_excusable(compacts) & sql.col("keyed")).select("lane", "key").distinct()


def _excusable(compacts: Compacts) -> Column:
    """Whether a stray's counterpart is absent from a log that is compacted."""
    ours = [lane for lane, (_, target) in compacts.items() if target]
    theirs = [lane for lane, (source, _) in compacts.items() if source]
    lane, is_target = sql.col("lane"), sql.col("target")
    cleaned = (~is_target & lane.isin(ours)) | (is_target & lane.isin(theirs))
    return cleaned & ~sql.col("mated") & (sql.col("place") >= 0)


def newest(asked: DataFrame, source: DataFrame, target: DataFrame) -> DataFrame:
    """Of each asked key: the newest source position on either side, and that of its newest tombstone."""
    rows = source.select("lane", "key", "position", "deletes", sql.lit(False).alias("target")).unionAll(
        target.select("lane", "key", "position", "deletes", sql.lit(True).alias("target"))
    )
    found = rows.join(sql.broadcast(asked), ["lane", "key"], "left_semi").groupBy("lane", "key")
    position = sql.col("position")
    return found.agg(
        sql.max(sql.when(~sql.col("target"), position)).alias("source_newest"),
        sql.max(sql.when(sql.col("target"), position)).alias("target_newest"),
        sql.max(sql.when(sql.col("deletes"), position)).alias("tombstone"),
    )


def with_newest(strays: DataFrame, found: DataFrame | None, compacts: Compacts) -> DataFrame:
    """The strays with ``newest_here`` (on the side that lacks their counterpart) and ``tombstone``; -1 for none."""
    nothing = sql.lit(-1).cast("bigint")
    if found is None:
        return strays.withColumn("newest_here", nothing).withColumn("tombstone", nothing)
    joined = strays.join(found, ["lane", "key"], "left").withColumn("excusable", _excusable(compacts))
    other = sql.when(sql.col("target"), sql.col("source_newest")).otherwise(sql.col("target_newest"))
    return (
        joined.withColumn("newest_here", sql.coalesce(sql.when(sql.col("excusable"), other), nothing))
        .withColumn("tombstone", sql.coalesce(sql.when(sql.col("excusable"), sql.col("tombstone")), nothing))
        .drop("source_newest", "target_newest", "excusable")
    )
