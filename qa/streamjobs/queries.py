"""The plans of the queries, over records of the sandbox's topics ``flights`` and ``weather``."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from qa.streamjobs.spec import Kind, QuerySpec, Reading
from qa.streamjobs.tally import OUTPUT, DayTally

# Far more than partitions are ever apart in the event time of what one batch reads of them.
_DELAY = "1 day"
_FLIGHT = "carrier string, flight int, origin string, dest string, tailnum string, distance long"


def plan(spark: SparkSession, spec: QuerySpec) -> DataFrame:
    """The query's rows."""
    flights = reduce(DataFrame.unionByName, (_flights(spark, one) for one in spec.flights))
    match spec.kind:
        case Kind.WINDOWS:
            return _windows(flights)
        case Kind.TWICE:
            newark = flights.where("origin = 'EWR'")
            return _windows(newark.unionByName(flights.where("origin <> 'EWR'")))
        case Kind.JOIN:
            if spec.weather is None:
                raise ValueError("a join reads the weather too")
            return _join(flights, _weather(spark, spec.weather))
        case Kind.DISTINCT:
            hours = flights.select(F.date_trunc("hour", "at").alias("hour"), "origin", "carrier")
            return hours.withWatermark("hour", _DELAY).dropDuplicates(["hour", "origin", "carrier"])
        case Kind.TIMERS:
            days = flights.withWatermark("at", _DELAY).withColumn("day_ms", F.unix_millis(F.date_trunc("day", "at")))
            return days.groupBy("carrier", "day_ms").transformWithState(DayTally(), OUTPUT, "append", "eventTime")
        case Kind.COUNTS:
            return flights.groupBy("origin", "dest").agg(
                F.count("*").alias("flights"), F.sum("distance").alias("miles")
            )


def _windows(flights: DataFrame) -> DataFrame:
    windows = flights.withWatermark("at", _DELAY).groupBy(F.window("at", "6 hours"), "origin", "carrier")
    sums = windows.agg(F.count("*").alias("flights"), F.sum("distance").alias("miles"))
    return sums.select(F.col("window.start").alias("start"), "origin", "carrier", "flights", "miles")


def _join(flights: DataFrame, weather: DataFrame) -> DataFrame:
    left = flights.withWatermark("at", _DELAY)
    right = weather.withWatermark("hour", _DELAY)
    hour = (F.col("at") >= F.col("hour")) & (F.col("at") < F.col("hour") + F.expr("interval 1 hour"))
    rows = left.join(right, (F.col("origin") == F.col("station")) & hour, "leftOuter")
    return rows.select("at", "carrier", "flight", "origin", "tailnum", "hour", "temp")


def _flights(spark: SparkSession, reading: Reading) -> DataFrame:
    value = F.from_json(F.col("value").cast("string"), _FLIGHT)
    rows = _kafka(spark, reading).where("value is not null").select(F.col("timestamp").alias("at"), value.alias("row"))
    return rows.select("at", "row.*")


def _weather(spark: SparkSession, reading: Reading) -> DataFrame:
    value = F.from_json(F.col("value").cast("string"), "origin string, temp double")
    rows = _kafka(spark, reading).select(F.col("timestamp").alias("hour"), value.alias("row"))
    return rows.select("hour", F.col("row.origin").alias("station"), "row.temp")


def _kafka(spark: SparkSession, reading: Reading) -> DataFrame:
    choice = ("subscribePattern", reading.pattern) if reading.pattern else ("subscribe", reading.topics)
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", reading.servers)
        .option("kafka.isolation.level", "read_committed")
        .option(*choice)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", reading.per_batch)
        .load()
    )
