"""What a format is; and which columns of a Kafka table are its value's, and which the record's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql.types import DataType, StructField, StructType

from anabranch.errors import InvalidFieldError
from anabranch.streams.tables import TableDeclaration

OWN = {
    "_key": "key",
    "_topic": "topic",
    "_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
    "_headers": "headers",
}
"""Columns that are the record's own, by Spark's names of them, whatever the format is."""


class ValueFormat(Protocol):
    """One way of writing values; ``fields`` are the columns that a value has, in the order of the declaration."""

    options: ClassVar[Mapping[str, str]]
    fields: StructType

    def decode(self, value: Column, /) -> Column:
        """A struct with at least ``fields``."""

    def is_bad(self, decoded: Column, value: Column, /) -> Column:
        """Whether the value could not be decoded; never for a record without a value."""

    def encode(self, row: Column, /) -> Column:
        """The value, BINARY or STRING, of a struct of ``fields``."""


def columns_of(table: TableDeclaration) -> StructType:
    """The columns that a table declares, the record's own with them; raises InvalidFieldError."""
    return StructType([StructField(column.name, _type(table, column.name, column.type)) for column in table.columns])


def value_columns(table: TableDeclaration) -> StructType:
    """Those that its values have."""
    return StructType([one for one in columns_of(table) if one.name.lower() not in OWN])


def handed_on(table: TableDeclaration, prefix: str, ours: Mapping[str, str]) -> dict[str, str]:
    """Options with a prefix that are not ours, without it: Spark's own of a format."""
    return {
        name[len(prefix) :]: value
        for name, value in table.options.items()
        if name.lower().startswith(prefix) and name.lower() not in ours
    }


def _type(table: TableDeclaration, name: str, text: str) -> DataType:
    try:
        return DataType.fromDDL(text)
    except (PySparkException, ValueError) as error:
        problem = f"{text!r} is no type"
        raise InvalidFieldError(f"table {table.name}", name, problem, "write it as Spark does") from error
