"""A link as a Spark streaming query: stopping the query stops the copying."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.config.jobspec import LinkJob
from anabranch.spark.link.slots import SlotsFile
from anabranch.spark.link.source import FORMAT, LeaseSource

COPIED = "copied"


def start(spark: SparkSession, job: LinkJob, checkpoint: str, slots: SlotsFile) -> StreamingQuery:
    """Start the query of a link; ``slots`` has how many tasks each micro-batch gets.

    ``checkpoint`` is a directory for Spark's own bookkeeping; it plans work and may be lost at any time.  The
    query's progress carries the observed metric ``copied`` with the records and bytes of each micro-batch.
    """
    spark.dataSource.register(LeaseSource)
    figures = (
        spark.readStream.format(FORMAT)
        .option("job", job.to_json())
        .option("slots", str(slots))
        .load()
        .observe(
            COPIED,
            sql.sum("records").alias("records"),
            sql.sum("bytes").alias("bytes"),
            sql.max("over").alias("over"),
        )
    )
    return (
        figures.writeStream.queryName(f"anabranch link {job.link}")
        .format("noop")
        .option("checkpointLocation", checkpoint)
        # Spark's logs of offsets and commits decide nothing here, and waiting for them is a pause between leases.
        .option("asyncProgressTrackingEnabled", "true")
        .start()
    )
