"""Ranges of Kafka partitions as rows of digests, made by the JVM: contents are read there and nowhere else.

The digest of a record is two 64-bit xxHash values of the same columns after different constants.  Spark's ``xxhash64``
chains its columns, hashes the bytes of each with its length, and passes over nulls: so the digest begins with the
timestamp and with flags for a null key, a null value and the number of headers, and each header is followed by its
number.  A byte moved from key to value, null for empty, another order of headers: all are seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from anabranch.model.topics import TopicPartition

FORMAT = "kafka"
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
_FIRST, _SECOND = 0x416E616272616E63, 0x56657269667931


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets ``[start, end)`` of one partition."""

    partition: TopicPartition
    start: int
    end: int


def read(
    spark: SparkSession, options: Mapping[str, str], ranges: Iterable[OffsetRange], isolation: str, slots: int = 1
) -> DataFrame | None:
    """The records of some ranges, one a partition; None where all are empty.

    With more ``slots`` than partitions long ranges are cut, to be read in parallel: order between rows means nothing.
    """
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    count = 0
    for one in ranges:
        if one.start < one.end:
            starts.setdefault(one.partition.topic, {})[str(one.partition.partition)] = one.start
            ends.setdefault(one.partition.topic, {})[str(one.partition.partition)] = one.end
            count += 1
    if not count:
        return None
    reader = (
        spark.read.format(FORMAT)
        .options(**options)
        .option("assign", json.dumps({topic: sorted(map(int, parts)) for topic, parts in starts.items()}))
        .option("startingOffsets", json.dumps(starts))
        .option("endingOffsets", json.dumps(ends))
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", isolation)
        # What is not there any more is found by comparing, and judged by where the log begins afterwards.
        .option("failOnDataLoss", "false")
    )
    if count < slots:
        reader = reader.option("minPartitions", str(slots))
    return reader.load()


def _contents() -> tuple[Column, ...]:
    count = sql.coalesce(sql.size("headers"), sql.lit(-1))
    flags = (
        sql.when(sql.col("key").isNull(), 1).otherwise(0)
        + sql.when(sql.col("value").isNull(), 2).otherwise(0)
        + sql.greatest(count, sql.lit(0)) * 4
    )
    return (sql.unix_micros("timestamp"), flags, sql.col("key"), sql.col("value"), _headers())


def _headers() -> Column:
    """The headers, each followed by its number, which tells a null value from the next name; null for none."""
    headers, count = sql.col("headers"), sql.size("headers")
    # A lambda would do as well, and have Spark interpret all of the plan instead of compiling it.
    numbered = sql.arrays_zip(headers["key"], headers["value"], sql.sequence(sql.lit(1), count))
    return sql.when(count > 0, numbered)


def first(*more: Column) -> Column:
    """One half of a record's digest, hashed on with more columns."""
    return sql.xxhash64(sql.lit(_FIRST), *_contents(), *more)


def second(*more: Column) -> Column:
    """The other half."""
    return sql.xxhash64(sql.lit(_SECOND), *_contents(), *more)


def size() -> Column:
    """The bytes of key and value."""
    return sql.coalesce(sql.octet_length("key"), sql.lit(0)) + sql.coalesce(sql.octet_length("value"), sql.lit(0))


def part(name: str) -> Column:
    """A digest of one binary column alone, null and empty told apart."""
    return sql.xxhash64(sql.col(name).isNull(), sql.col(name))


def headers_part() -> Column:
    """A digest of the headers alone."""
    return sql.xxhash64(sql.coalesce(sql.size("headers"), sql.lit(-1)) > 0, _headers())


def here() -> Column:
    """The topic in the first row of each task, null in all others: a task reads one partition, and names are long."""
    position = sql.monotonically_increasing_id().bitwiseAND((1 << 33) - 1)
    return sql.when(position == 0, sql.col("topic"))
