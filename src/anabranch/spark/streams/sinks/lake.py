"""Tables of Iceberg and Delta that are written; Delta's own connector knows which batches of a query it has."""

from __future__ import annotations

from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from anabranch.spark.streams.lake_tables import LAKES, NO_CLASS, NoLakeConnectorError
from anabranch.spark.streams.sinks.errors import SinkMissingError, SinkSchemaError
from anabranch.spark.streams.sinks.options import SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts, SinkKind, observed
from anabranch.streams.tables import TableDeclaration

_NEW = ("DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND")


class LakeTable:
    """A ``NativeSink`` on a table at ``place``: its name, or its directory; ``sink`` is what errors call it."""

    def __init__(self, provider: str, option: str, table: TableDeclaration, _identity: QueryIdentity) -> None:
        self.counts = SinkCounts()
        self._provider = provider
        connector = LAKES[provider]
        reading = {name.lower(): text for name, text in connector.optional.items()}
        self.place = SinkOptions.of(table, connector.required, reading).text(option)
        self._named = option == "table"
        self.sink = f"{provider} table {self.place}"

    def check(self, schema: StructType) -> None:
        has = self.columns()
        if has is None:
            return
        types = {field.name.lower(): field.dataType for field in has.fields}
        problems = []
        for field in schema.fields:
            found = types.get(field.name.lower())
            if found is None:
                problems.append(f"it has no column {field.name}, but {', '.join(has.fieldNames())}")
            elif found.simpleString() != field.dataType.simpleString():
                shown = field.dataType.simpleString()
                problems.append(f"column {field.name} is {found.simpleString()}, and the query writes {shown}")
        if problems:
            raise SinkSchemaError(self.sink, tuple(problems), "CAST the columns in the query, or ALTER TABLE it")

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        return observed(rows).writeStream.format(self._provider).option("path", self.place).outputMode("append")

    def columns(self) -> StructType | None:
        """What the table has, None where it will be made by the first batch."""
        spark = SparkSession.active()
        try:
            if self._named:
                return spark.table(self.place).schema
            return spark.read.format(self._provider).load(self.place).schema
        except AnalysisException as error:
            condition = error.getCondition() or ""
            if condition.startswith(NO_CLASS):
                raise NoLakeConnectorError(self.sink, self._provider) from error
            if not self._named and condition.startswith(_NEW):
                return None
            fix = "CREATE TABLE it, and set its catalog: spark.sql.catalog.NAME"
            raise SinkMissingError(self.sink, f"such table: {str(error).splitlines()[0][:200]}", fix) from error


KIND = SinkKind("delta", partial(LakeTable, "delta", "path"), dict(LAKES["delta"].required), exact=True)
