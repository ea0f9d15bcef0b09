"""Rows as values of an ``INSERT`` of MySQL and MariaDB.

Invariant
    L1  What a value says is written in digits, or in hexadecimal: no character of it is one of the statement's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.chunks import ValueProblem, column_texts
from anabranch.spark.streams.sinks.state import BatchState


@dataclass(frozen=True, slots=True)
class Literals:
    """An encoder of rows; ``kinds`` are the columns' types."""

    names: tuple[str, ...]
    kinds: tuple[T.DataType, ...]

    @classmethod
    def of(cls, schema: T.StructType, writing: BatchState) -> Literals:  # noqa: ARG003 the server knows it
        return cls(tuple(schema.fieldNames()), tuple(field.dataType for field in schema.fields))

    def rows(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        for row in column_texts(self.names, self.kinds, columns, literal_of, "NULL"):
            yield f"({','.join(row)})".encode("ascii")

    def chunk(self, rows: Sequence[bytes]) -> bytes:
        return b",".join(rows)


def literal_of(kind: T.DataType) -> Callable[[Any], str]:
    """How values of a type are written (L1)."""
    for known, literal in _LITERALS:
        if isinstance(kind, known):
            return literal
    return text


def text(value: str) -> str:
    """A string."""
    return f"_utf8mb4 X'{value.encode().hex()}'"


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueProblem(f"{value} is a number that MySQL has not")
    return repr(value)


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _timestamp(value: datetime) -> str:
    in_utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return f"'{in_utc.isoformat(' ', timespec='microseconds')}'"


def _date(value: date) -> str:
    return f"'{value.isoformat()}'"


_LITERALS: tuple[tuple[type[T.DataType], Callable[[Any], str]], ...] = (
    (T.BooleanType, lambda value: "1" if value else "0"),
    (T.BinaryType, lambda value: f"X'{value.hex()}'"),
    (T.DecimalType, _decimal),
    (T.IntegralType, str),
    (T.FractionalType, _number),
    (T.TimestampType, _timestamp),
    (T.TimestampNTZType, _timestamp),
    (T.DateType, _date),
)
