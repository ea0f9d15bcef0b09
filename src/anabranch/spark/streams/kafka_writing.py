"""The sink of Kafka tables."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from anabranch.errors import InvalidFieldError
from anabranch.model.routing import ClientRole
from anabranch.spark.streams.clusters import ClusterCodes, LedTable
from anabranch.spark.streams.kafka_tables import PROVIDER, WRITING, check_topics, encoded, kafka_settings, topics_of
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts, SinkKind
from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration


class KafkaTableSink:
    """Rows of a table as records of its topic."""

    def __init__(self, clusters: ClusterCodes, table: TableDeclaration, identity: QueryIdentity) -> None:
        self.counts = SinkCounts()
        self._clusters = clusters
        self._table = table
        self._identity = identity

    def check(self, _schema: StructType) -> None:
        if len(topics_of(self._table)) != 1:
            raise InvalidFieldError(f"table {self._table.name}", "topic", "a table that is written has one topic")
        check_topics(self._lead())

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        led = self._lead()
        settings = {**led.options(ClientRole.PRODUCER), **kafka_settings(self._table), "topic": led.topics[0]}
        return kafka_writer(encoded(rows, self._table), settings, self._identity)

    def _lead(self) -> LedTable:
        return self._clusters.lead(option(self._table, "cluster"), topics_of(self._table), ClientRole.PRODUCER)


def kafka_writer(records: DataFrame, settings: dict[str, str], _identity: QueryIdentity) -> DataStreamWriter:
    """The writer of records (``key``, ``value``, ``headers``) to the topic that the settings name."""
    has_headers = "headers" in records.columns
    return (
        records.writeStream.format("kafka")
        .options(**settings, includeHeaders=str(has_headers).lower())
        .outputMode("append")
    )


def kafka_kind(clusters: ClusterCodes) -> SinkKind:
    """The sink of tables whose cluster codes are led so."""
    return SinkKind(
        PROVIDER,
        lambda table, identity: KafkaTableSink(clusters, table, identity),
        dict(WRITING.required),
        dict(WRITING.optional),
    )
