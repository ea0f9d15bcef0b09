"""What a session needs to compare."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from anabranch.errors import ConfigError

SETTINGS = {
    # Sums and shifts wrap around here, as they do in NumPy.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # Otherwise the size of each batch is asked for at each row.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "2g",
    # Every scan has consumers of its own: kept for minutes, their buffers would fill the heap.
    "spark.kafka.consumer.cache.timeout": "3s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "3s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "3s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "3s",
}


@dataclass(eq=False)
class NoSourceError(ConfigError):
    """Spark runs, and has no source for Kafka."""

    spark: str

    _message = "this Spark {spark} has no source for Kafka"
    _hint = "spark-submit --jars $(python -m anabranch.jars.connector) ..."


def check_source(spark: SparkSession) -> None:
    """Raise NoSourceError where the Kafka source is not there."""
    try:
        spark.read.format("kafka").option("kafka.bootstrap.servers", "localhost:1").option("assign", "{}").load()
    except Exception as error:
        if "Failed to find data source" in str(error) or "DATA_SOURCE_NOT_FOUND" in str(error):
            raise NoSourceError(spark.version) from error
