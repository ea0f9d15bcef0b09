"""Which strays a log cleaner may have taken from the other side: by the newest records of their keys on both sides."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from anabranch.verify.past import UNTOLD

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
    """Of each asked key the newest source positions, all and of tombstones, on both sides.

    Both sides are as ``mismatches.keyed`` has them.  A record of the target that the lane did not write does not count,
    nor for the target a tombstone of the source that was not copied; ``untold`` is whether one may or may not.
    """
    rows = source.withColumn("target", sql.lit(False)).unionAll(target.withColumn("target", sql.lit(True)))
    found = rows.join(sql.broadcast(asked), ["lane", "key"], "left_semi").groupBy("lane", "key")
    ours, deletes, copied = ~sql.col("target"), sql.col("deletes"), sql.col("place") >= 0
    position = sql.when(ours, sql.col("offset")).otherwise(sql.col("place"))
    return found.agg(
        sql.max(sql.when(ours, position)).alias("source_newest"),
        sql.max(sql.when(~ours & copied, position)).alias("target_newest"),
        sql.max(sql.when(deletes & (ours | copied), position)).alias("any_tombstone"),
        sql.max(sql.when(deletes & copied, position)).alias("copied_tombstone"),
        sql.max((sql.col("place") == UNTOLD) & (~ours | deletes)).alias("untold"),
    )


def with_newest(strays: DataFrame, found: DataFrame | None, compacts: Compacts) -> DataFrame:
    """The strays with ``newest_here`` (on the side that lacks their counterpart) and ``tombstone``, -1 for none.

    ``untold``: these excuse nothing, and records past the pin may, of which nothing tells who wrote them.
    """
    nothing, no = sql.lit(-1).cast("bigint"), sql.lit(False)
    if found is None:
        return strays.withColumn("newest_here", nothing).withColumn("tombstone", nothing).withColumn("untold", no)
    joined = strays.join(found, ["lane", "key"], "left").withColumn("excusable", _excusable(compacts))
    excusable, of_target = sql.col("excusable"), sql.col("target")
    newest_here = sql.when(of_target, sql.col("source_newest")).otherwise(sql.col("target_newest"))
    tombstone = sql.when(of_target, sql.col("any_tombstone")).otherwise(sql.col("copied_tombstone"))
    told = (sql.col("newest_here") > sql.col("offset")) | (sql.col("tombstone") >= sql.col("offset"))
    return (
        joined.withColumn("newest_here", sql.coalesce(sql.when(excusable, newest_here), nothing))
        .withColumn("tombstone", sql.coalesce(sql.when(excusable, tombstone), nothing))
        .withColumn("untold", sql.coalesce(excusable & ~of_target & sql.col("untold") & ~told, no))
        .drop("source_newest", "target_newest", "any_tombstone", "copied_tombstone", "excusable")
    )
