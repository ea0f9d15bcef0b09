"""Spark jobs that name a cluster by its code: the options of Spark's Kafka source and sink, by the code's route.

::

    from anabranch.spark.routes import kafka_options

    options = kafka_options("orders", "consumer", topics=["orders"])
    spark.readStream.format("kafka").options(**options).load()

Needs confluent-kafka, which the client SDK stands on, where the job's driver runs, and nothing of the service.
"""

from anabranch.spark.routes.errors import (
    HeldBySwitchError,
    NotTranslatedError,
    OtherLinkError,
    OtherTopicsError,
    Untranslated,
)
from anabranch.spark.routes.led import LedJob, kafka_options, lead
from anabranch.spark.routes.starting import EarlierPositions

__all__ = [
    "EarlierPositions",
    "HeldBySwitchError",
    "LedJob",
    "NotTranslatedError",
    "OtherLinkError",
    "OtherTopicsError",
    "Untranslated",
    "kafka_options",
    "lead",
]
