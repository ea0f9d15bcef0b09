"""A table of a database as its catalog describes it, and how it differs from what a query writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.errors import SinkOptionError


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column: ``type`` in the catalog's lower-case words, ``shown`` as a person writes it.

    ``precision`` and ``scale`` are of decimals, None where they have no bound; of times, ``precision`` is the digits of
    a second.  ``filled`` tells that a row without a value for it is taken.
    """

    name: str
    type: str
    shown: str
    nullable: bool
    filled: bool = False
    generated: bool = False
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class SqlTable:
    """``unique`` are the columns of each unique index that a row is found by."""

    columns: tuple[SqlColumn, ...]
    unique: tuple[frozenset[str], ...] = ()


Fits = Callable[[T.DataType, SqlColumn], bool]


def table_name(table: str, option: str, text: str) -> tuple[str, str]:
    """Schema, empty where none is said, and name of ``table`` or ``schema.table``; raises ``SinkOptionError``."""
    schema, _, name = text.rpartition(".")
    if not name or "." in schema or (not schema and "." in text):
        raise SinkOptionError(table, option, f"{text!r} is no table", "write TABLE or SCHEMA.TABLE")
    return schema, name


def differences(table: SqlTable, schema: T.StructType, keys: Sequence[str], fits: Fits) -> tuple[str, ...]:
    """What would keep rows of that schema from being written, each in words."""
    has = {one.name: one for one in table.columns}
    found = _names_twice(schema)
    for field in schema.fields:
        column = has.get(field.name)
        if column is None:
            near = get_close_matches(field.name, has, 1) or sorted(has)
            found.append(f"it has no column {field.name}, but {', '.join(near)}")
        elif column.generated:
            found.append(f"column {field.name} is written by the database itself")
        elif not fits(field.dataType, column):
            found.append(f"column {field.name} is {column.shown}, which does not hold {field.dataType.simpleString()}")
    written = set(schema.fieldNames())
    for column in table.columns:
        if column.name not in written and not (column.nullable or column.filled or column.generated):
            found.append(f"column {column.name} may not be null, and the query does not write it")
    return (*found, *_of_keys(table, written, keys))


def _names_twice(schema: T.StructType) -> list[str]:
    names = schema.fieldNames()
    return [f"the query writes {one} twice" for one in sorted({one for one in names if names.count(one) > 1})]


def _of_keys(table: SqlTable, written: set[str], keys: Sequence[str]) -> list[str]:
    if not keys:
        return []
    has = {one.name: one for one in table.columns}
    found = [f"the query does not write the key column {one}" for one in keys if one not in written]
    found += [f"key column {one} may be null" for one in keys if one in has and has[one].nullable]
    if frozenset(keys) not in table.unique:
        found.append(f"it has no primary key and no unique constraint on exactly ({', '.join(keys)})")
    return found
