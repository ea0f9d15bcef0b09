"""What a session needs to compare."""

from __future__ import annotations

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

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
SOURCE_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
PACKAGES = "spark.jars.packages"


def connector() -> dict[str, str]:
    """The setting that has Spark bring its Kafka source from Maven, of the very version of Spark."""
    return {PACKAGES: f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"}


def has_source(spark: SparkSession) -> bool:
    """Whether the Kafka source is there."""
    try:
        spark.read.format("kafka").option("kafka.bootstrap.servers", "localhost:1").option("assign", "{}").load()
    except Exception as error:
        return "Failed to find data source" not in str(error) and "DATA_SOURCE_NOT_FOUND" not in str(error)
    return True
