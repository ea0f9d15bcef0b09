"""Values as text: JSON objects, CSV lines, or the text itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.formats.port import handed_on, value_columns
from anabranch.streams.tables import TableDeclaration

UNREAD = "_anabranch_unread"
PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREAD}


def with_unread(fields: StructType) -> StructType:
    """The fields, and one for text that Spark could not read."""
    return StructType([*fields, StructField(UNREAD, StringType())])


class _TextFormat:
    """What JSON and CSV share: Spark's parser puts text that it cannot read into a column of its own."""

    options: ClassVar[Mapping[str, str]] = {}
    _prefix: ClassVar[str]

    def __init__(self, table: TableDeclaration) -> None:
        self.fields = value_columns(table)
        self._options = handed_on(table, self._prefix, self.options)
        self._schema = with_unread(self.fields)

    def is_bad(self, decoded: Column, value: Column) -> Column:
        return value.isNotNull() & (decoded.isNull() | decoded[UNREAD].isNotNull())


class JsonFormat(_TextFormat):
    """A JSON object; a field that is not there is null, one that is of another type makes the record a bad one."""

    _prefix = "json."

    def decode(self, value: Column) -> Column:
        return F.from_json(value.cast("string"), self._schema, {**self._options, **PERMISSIVE})

    def encode(self, row: Column) -> Column:
        return F.to_json(row, {"ignoreNullFields": "false", **self._options})


class CsvFormat(_TextFormat):
    """A line of CSV, columns in the order of the declaration."""

    _prefix = "csv."

    def decode(self, value: Column) -> Column:
        ddl = ", ".join(f"`{one.name.replace('`', '``')}` {one.dataType.simpleString()}" for one in self._schema)
        return F.from_csv(value.cast("string"), ddl, {**self._options, **PERMISSIVE})

    def encode(self, row: Column) -> Column:
        return F.to_csv(row, dict(self._options))


class RawFormat:
    """The value as it is, in one column that is STRING or BINARY."""

    options: ClassVar[Mapping[str, str]] = {}

    def __init__(self, table: TableDeclaration) -> None:
        self.fields = value_columns(table)
        kinds = [type(one.dataType) for one in self.fields]
        if kinds not in ([StringType], [BinaryType]):
            fix = f"CREATE TABLE {table.name} (value STRING, ...)"
            raise InvalidFieldError(f"table {table.name}", "format", "raw has one column, STRING or BINARY", fix)

    def decode(self, value: Column) -> Column:
        return F.struct(value.cast(self.fields[0].dataType).alias(self.fields[0].name))

    def is_bad(self, _decoded: Column, _value: Column) -> Column:
        return F.lit(False)

    def encode(self, row: Column) -> Column:
        return row[self.fields[0].name]
