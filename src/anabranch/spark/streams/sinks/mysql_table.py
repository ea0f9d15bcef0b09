"""Tables of MySQL and MariaDB: their names in statements, what they are, and which values their columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.sql_table import SqlColumn, SqlTable

STAGE = "anabranch_rows"
STATE = "anabranch_batches"
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json", "enum", "uuid"})
_JSON = frozenset({"json", "text", "mediumtext", "longtext"})
_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_INTEGERS = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
_WIDTHS = {T.ByteType: (1, 3), T.ShortType: (2, 5), T.IntegerType: (4, 10), T.LongType: (8, 19)}
_MICROSECONDS = 6

TABLE = "SELECT ENGINE, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, NUMERIC_PRECISION, NUMERIC_SCALE,
       DATETIME_PRECISION
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
INDEXES = """
SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND NON_UNIQUE = 0
"""


@dataclass(frozen=True, slots=True)
class MySqlTable:
    """A table, and what keeps it from being written by key: each in words."""

    table: SqlTable
    engine: str
    counted: frozenset[str]

    def problems(self, keys: Sequence[str]) -> tuple[str, ...]:
        """What MySQL's way of upserting cannot do right."""
        found = []
        if self.engine.lower() != "innodb":
            found.append(f"its engine is {self.engine}, which has no transactions")
        # The server looks for a row by every unique index: by another one it would find the row of another key.
        for index in self.table.unique if keys else ():
            if index != frozenset(keys) and not index & self.counted:
                found.append(f"it has one more unique index, on ({', '.join(sorted(index))})")
        return tuple(found)


def quoted(name: str) -> str:
    """A name in a statement, whatever stands in it."""
    return "`" + name.replace("`", "``") + "`"


def qualified(database: str, name: str) -> str:
    """A table in a statement."""
    return f"{quoted(database)}.{quoted(name)}"


def listed(names: Sequence[str]) -> str:
    """Columns in a statement."""
    return ", ".join(map(quoted, names))


def stage(database: str, target: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """A table of this connection alone for the rows of a batch, which takes no key twice."""
    return (
        f"CREATE TEMPORARY TABLE {qualified(database, STAGE)} (UNIQUE KEY ({listed(keys)})) ENGINE=InnoDB "
        f"SELECT {listed(columns)} FROM {target} WHERE FALSE"
    )


def insert(target: str, columns: Sequence[str]) -> bytes:
    """What stands before the values."""
    return f"INSERT INTO {target} ({listed(columns)}) VALUES ".encode()


def merge(database: str, target: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """Put the rows of a batch in the place of those with their keys."""
    rest = [one for one in columns if one not in keys] or [keys[0]]
    sets = ", ".join(f"{quoted(one)} = VALUES({quoted(one)})" for one in rest)
    source = qualified(database, STAGE)
    return (
        f"INSERT INTO {target} ({listed(columns)}) SELECT {listed(columns)} FROM {source} "
        f"ON DUPLICATE KEY UPDATE {sets}"
    )


def state_table(database: str) -> str:
    """The table of the batches; its names differ by case, as the queries' do."""
    return (
        f"CREATE TABLE IF NOT EXISTS {qualified(database, STATE)} (query VARCHAR(255) CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_bin PRIMARY KEY, checkpoint VARCHAR(64) NOT NULL, batch_id BIGINT NOT NULL, fence BIGINT NOT NULL) "
        "ENGINE=InnoDB"
    )


def table_of(engine: str, columns: Sequence[Sequence[Any]], indexes: Sequence[Sequence[Any]]) -> MySqlTable:
    """What the catalog's rows say; an index on the beginning of a column finds no row for sure."""
    unique: dict[str, set[str]] = {}
    partial = {name for name, column, part in indexes if part is not None or column is None}
    for name, column, _ in indexes:
        unique.setdefault(name, set()).add(column or "an expression")
    counted = frozenset(row[0] for row in columns if "auto_increment" in row[5].lower())
    sets = tuple(
        # Kept apart from the key of its columns, which it is not.
        frozenset(found) | ({f"the beginning of {', '.join(sorted(found))}"} if name in partial else frozenset())
        for name, found in unique.items()
    )
    return MySqlTable(SqlTable(tuple(_column(*row) for row in columns), sets), engine, counted)


def _column(
    name: str, kind: str, shown: str, nullable: str, default: object, extra: str, digits: int, scale: int, second: int
) -> SqlColumn:
    unsigned = "unsigned" in shown.lower()
    return SqlColumn(
        name,
        f"{kind.lower()} unsigned" if unsigned else kind.lower(),
        shown,
        nullable == "YES",
        filled=default is not None or "auto_increment" in extra.lower() or "default_generated" in extra.lower(),
        generated="virtual" in extra.lower() or "stored" in extra.lower() or "generated always" in extra.lower(),
        precision=digits if second is None else second,
        scale=scale,
    )


def fits(kind: T.DataType, column: SqlColumn) -> bool:
    """Whether the column holds each value of a Spark type, as it is; what a string says is seen when it is written."""
    is_type = column.type
    if isinstance(kind, T.StringType):
        return is_type in _TEXTS
    if isinstance(kind, T.ArrayType | T.MapType | T.StructType | T.VariantType):
        return is_type in _JSON
    if isinstance(kind, T.BinaryType):
        return is_type in _BYTES
    if type(kind) in _WIDTHS:
        size, digits = _WIDTHS[type(kind)]
        return _INTEGERS.get(is_type, 0) >= size or (is_type == "decimal" and _holds(column, digits, 0))
    if isinstance(kind, T.DecimalType):
        return is_type == "decimal" and _holds(column, kind.precision - kind.scale, kind.scale)
    if isinstance(kind, T.TimestampType):
        return is_type in ("datetime", "timestamp") and column.precision == _MICROSECONDS
    if isinstance(kind, T.TimestampNTZType):
        return is_type == "datetime" and column.precision == _MICROSECONDS
    others: dict[type[T.DataType], tuple[str, ...]] = {
        T.BooleanType: ("tinyint", "bit"),
        T.FloatType: ("float", "double"),
        T.DoubleType: ("double",),
        T.DateType: ("date",),
    }
    return is_type in others.get(type(kind), ())


def _holds(column: SqlColumn, digits: int, scale: int) -> bool:
    assert column.precision is not None and column.scale is not None
    return column.scale >= scale and column.precision - column.scale >= digits
