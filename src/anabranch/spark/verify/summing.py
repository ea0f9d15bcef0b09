"""From records to chunk sums wholly in the JVM, where one subtraction makes positions of offsets.

The sums are those of ``anabranch.verify.sums.fold``, at half its price: nothing goes through Arrow and Python.  No
expression here overflows or falls back to interpreted code, whatever the session's settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from anabranch.model.topics import TopicPartition
from anabranch.spark.verify import scan
from anabranch.verify.pins import CHUNK_BITS

_HALF = (1 << 32) - 1


def sums(spark: SparkSession, rows: DataFrame, lanes: Mapping[TopicPartition, tuple[int, int]]) -> DataFrame:
    """Chunk sums, as ``folding.SCHEMA`` has them, of records that ``scan.read`` gives.

    ``lanes``: the number of each partition's lane, and what to subtract from its offsets.
    """
    table = spark.createDataFrame(
        [(one.topic, one.partition, lane, shift) for one, (lane, shift) in lanes.items()],
        "topic string, partition int, lane int, shift bigint",
    )
    # Joined by a word, which Spark looks up faster than a text.
    log = sql.xxhash64("topic", "partition").alias("log")
    known = rows.select("*", log).join(sql.broadcast(table.select(log, "lane", "shift")), "log")
    place = sql.col("offset") - sql.col("shift")
    digests = known.select(
        "lane",
        sql.shiftright(place, CHUNK_BITS).alias("chunk"),
        scan.size().alias("size"),
        scan.first(place).alias("one"),
        scan.second(place).alias("two"),
    )
    found = digests.groupBy("lane", "chunk").agg(
        sql.count("*").alias("records"),
        sql.sum("size").alias("bytes"),
        sql.bit_xor("one").alias("first"),
        sql.bit_xor("two").alias("second"),
        sql.sum(sql.col("one").bitwiseAND(_HALF)).alias("low"),
        sql.sum(sql.shiftrightunsigned("one", 32)).alias("high"),
    )
    return found.select("lane", "chunk", "records", "bytes", "first", "second", _total().alias("total"))


def _total() -> Column:
    """Both halves of a sum as one word, modulo 2^64."""
    high = sql.col("high") + sql.shiftrightunsigned("low", 32)
    return sql.shiftleft(high, 32).bitwiseOR(sql.col("low").bitwiseAND(_HALF))
