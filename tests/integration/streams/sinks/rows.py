"""The rows that every sink is given: each type, nulls, and what is hard to write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("name", T.StringType()),
        T.StructField("amount", T.DecimalType(18, 4)),
        T.StructField("at", T.TimestampType()),
        T.StructField("local", T.TimestampNTZType()),
        T.StructField("day", T.DateType()),
        T.StructField("ok", T.BooleanType()),
        T.StructField("ratio", T.DoubleType()),
        T.StructField("raw", T.BinaryType()),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("place", T.StructType().add("city", T.StringType()).add("lat", T.DoubleType())),
    ]
)
NAMES = SCHEMA.fieldNames()
HARD = "tab\tline\nreturn\rslash\\ quote' double\" tick` 日本語 \U0001f600 {} %s \\N"


def row(number: int, name: str | None = HARD) -> Row:
    """A row with all columns."""
    at = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    return Row(
        id=number,
        name=name,
        amount=Decimal("-12345678901234.5678"),
        at=at,
        local=at.replace(tzinfo=None),
        day=date(2024, 2, 29),
        ok=True,
        ratio=0.1,
        raw=bytes(range(256)),
        tags=["a", None, HARD],
        place=Row(city="Köln", lat=50.94),
    )


def nulls(number: int) -> Row:
    """A row with its key alone."""
    return Row(**{name: number if name == "id" else None for name in NAMES})


def frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    """A batch of two partitions."""
    return spark.createDataFrame([tuple(one) for one in rows], SCHEMA).repartition(2)


def named(spark: SparkSession, names: dict[int, str | None]) -> DataFrame:
    """A batch of rows that differ in their names."""
    return frame(spark, [row(number, name) for number, name in names.items()])


def many(spark: SparkSession, count: int, name: str = "row") -> DataFrame:
    """As many rows as are wished, with a name made of their number."""
    one = spark.createDataFrame([tuple(row(0))], SCHEMA).drop("id", "name")
    numbers = spark.range(0, count, 1, 4).withColumn("name", F.concat(F.lit(f"{name} "), F.col("id")))
    return numbers.crossJoin(F.broadcast(one)).select(*NAMES)


def seen(one: Row) -> dict[str, Any]:
    """A row as every lab tells it: texts for what has many forms, nested columns as JSON's values."""
    value = one.asDict(recursive=True)
    return {
        **value,
        "amount": None if one.amount is None else f"{one.amount:f}",
        "at": None if one.at is None else one.at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds"),
        "local": None if one.local is None else one.local.isoformat(" ", "microseconds"),
        "day": None if one.day is None else one.day.isoformat(),
    }
