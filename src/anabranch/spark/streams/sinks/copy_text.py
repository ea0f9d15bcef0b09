r"""Rows as PostgreSQL's ``COPY ... FROM STDIN`` reads them in its text format.

Invariant
    T1  A value's text holds no tab and no line break, and a backslash only where one was put to escape: no value ends
        its column or its row.  ``\N`` is NULL and no value's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.chunks import ValueProblem, column_texts
from anabranch.spark.streams.sinks.keys import timestamp_text
from anabranch.spark.streams.sinks.state import BatchState

_NULL = "\\N"


@dataclass(frozen=True, slots=True)
class CopyText:
    """An encoder of rows; ``kinds`` are the columns' types."""

    names: tuple[str, ...]
    kinds: tuple[T.DataType, ...]

    @classmethod
    def of(cls, schema: T.StructType, writing: BatchState) -> CopyText:  # noqa: ARG003 the server knows it
        return cls(tuple(schema.fieldNames()), tuple(field.dataType for field in schema.fields))

    def rows(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        for row in column_texts(self.names, self.kinds, columns, text_of, _NULL):
            yield ("\t".join(row) + "\n").encode()

    def chunk(self, rows: Sequence[bytes]) -> bytes:
        return b"".join(rows)


def text_of(kind: T.DataType) -> Callable[[Any], str]:
    """How values of a type are written (T1)."""
    if isinstance(kind, T.BooleanType):
        return lambda value: "t" if value else "f"
    if isinstance(kind, T.BinaryType):
        return lambda value: "\\\\x" + value.hex()
    if isinstance(kind, T.DecimalType):
        return lambda value: f"{value:f}"
    if isinstance(kind, T.NumericType):
        return repr
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return _timestamp
    if isinstance(kind, T.DateType):
        return lambda value: value.isoformat()
    return escaped


def escaped(value: str) -> str:
    """A string (T1); raises ``ValueProblem`` for the one character that PostgreSQL has not."""
    if "\0" in value:
        raise ValueProblem("a string with the character U+0000, which PostgreSQL does not store")
    value = value.replace("\\", "\\\\")
    return value.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _timestamp(value: datetime) -> str:
    return timestamp_text(value)
