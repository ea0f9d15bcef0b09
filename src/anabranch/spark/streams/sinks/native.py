"""Sinks that Spark has itself: files, and nothing (``noop``)."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.native_tables import FILES
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts, SinkKind, observed
from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration

PARTITION_BY = "partition.by"
_READING_ALONE = ("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "maxFileAge", "cleanSource")


class NativeTable:
    """A table that is written by ``writeStream.format``; Spark's log of a directory of files makes those exact."""

    def __init__(self, provider: str, table: TableDeclaration, _identity: QueryIdentity) -> None:
        self.counts = SinkCounts()
        self._provider = provider
        self._table = table
        self._partitions = tuple(
            part for part in (one.strip() for one in option(table, PARTITION_BY).split(",")) if part
        )

    def check(self, schema: StructType) -> None:
        for name in self._partitions:
            if name not in schema.names:
                problem = f"there is no column {name}"
                where = f"table {self._table.name}"
                raise InvalidFieldError(where, PARTITION_BY, problem, f"there is {', '.join(schema.names)}")

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        left_out = {PARTITION_BY, *(name.lower() for name in _READING_ALONE)}
        options = {name: value for name, value in self._table.options.items() if name.lower() not in left_out}
        writer = observed(rows).writeStream.format(self._provider).options(**options).outputMode("append")
        return writer.partitionBy(*self._partitions) if self._partitions else writer


KINDS = (
    *(
        SinkKind(
            name,
            partial(NativeTable, name),
            dict(connector.required),
            {**connector.optional, PARTITION_BY: "columns by which directories are named, with commas"},
            exact=True,
        )
        for name, connector in FILES.items()
    ),
    SinkKind("noop", partial(NativeTable, "noop")),
)
