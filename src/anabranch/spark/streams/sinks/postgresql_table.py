"""Tables of PostgreSQL: their names in statements, what they are, and which values their columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import types as T

from anabranch.spark.streams.sinks.sql_table import SqlColumn, SqlTable

STAGE = "anabranch_rows"
STATE = "anabranch_batches"
_TEXTS = frozenset({"text", "varchar", "bpchar", "citext", "uuid", "json", "jsonb", "xml", "name"})
_JSON = frozenset({"json", "jsonb", "text", "varchar"})
_INTEGERS = {"int2": 2, "int4": 4, "int8": 8}
_WIDTHS = {T.ByteType: (1, 3), T.ShortType: (2, 5), T.IntegerType: (4, 10), T.LongType: (8, 19)}
_MICROSECONDS = 6

COLUMNS = """
SELECT a.attname, coalesce(b.typname, t.typname), format_type(a.atttypid, a.atttypmod),
       CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
       NOT a.attnotnull AND NOT t.typnotnull, a.atthasdef OR a.attidentity <> '',
       a.attgenerated <> '' OR a.attidentity = 'a',
       coalesce(b.typtype, t.typtype) = 'e'
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
UNIQUE = """
SELECT array(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
FROM pg_index i
WHERE i.indrelid = %s AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
"""
RIGHTS = """
SELECT has_table_privilege(%(oid)s, 'INSERT'), has_table_privilege(%(oid)s, 'UPDATE'),
       has_table_privilege(%(oid)s, 'SELECT'),
       has_database_privilege(current_database(), 'TEMPORARY')
"""


def quoted(name: str) -> str:
    """A name in a statement, whatever stands in it."""
    return '"' + name.replace('"', '""') + '"'


def qualified(schema: str, name: str) -> str:
    """A table in a statement; without a schema it is looked for as the server does."""
    return f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)


def listed(names: Sequence[str]) -> str:
    """Columns in a statement."""
    return ", ".join(map(quoted, names))


def stage(target: str, columns: Sequence[str]) -> str:
    """A table of this connection alone for the rows of a batch, which forgets them with each transaction."""
    return (
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {STAGE} ON COMMIT DELETE ROWS AS "
        f"SELECT {listed(columns)} FROM {target} WITH NO DATA"
    )


def copy(target: str, columns: Sequence[str]) -> str:
    """Take rows as text."""
    return f"COPY {target} ({listed(columns)}) FROM STDIN"


def merge(target: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """Put the rows of a batch in the place of those with their keys."""
    rest = [one for one in columns if one not in keys]
    sets = ", ".join(f"{quoted(one)} = EXCLUDED.{quoted(one)}" for one in rest)
    return (
        f"INSERT INTO {target} ({listed(columns)}) SELECT {listed(columns)} FROM {STAGE} "
        f"ON CONFLICT ({listed(keys)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"
    )


def repeated(keys: Sequence[str]) -> str:
    """A key that two rows of a batch have, as the server compares them."""
    texts = ", ".join(f"{quoted(one)}::text" for one in keys)
    return f"SELECT concat_ws(', ', {texts}) FROM {STAGE} GROUP BY {listed(keys)} HAVING count(*) > 1 LIMIT 1"


def state_table(table: str) -> str:
    """The table of the batches."""
    return (
        f"CREATE TABLE IF NOT EXISTS {table} "
        "(query text PRIMARY KEY, checkpoint text NOT NULL, batch_id bigint NOT NULL, fence bigint NOT NULL)"
    )


def table_of(columns: Sequence[Sequence[Any]], unique: Sequence[Sequence[Any]]) -> SqlTable:
    """What the catalog's rows say."""
    return SqlTable(tuple(_column(*row) for row in columns), tuple(frozenset(row[0]) for row in unique))


def _column(
    name: str, kind: str, shown: str, modifier: int, nullable: bool, filled: bool, generated: bool, is_enum: bool
) -> SqlColumn:
    precision = scale = None
    if kind == "numeric" and modifier >= 0:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    elif kind in ("timestamp", "timestamptz"):
        precision = modifier if modifier >= 0 else _MICROSECONDS
    return SqlColumn(name, "text" if is_enum else kind, shown, nullable, filled, generated, precision, scale)


def fits(kind: T.DataType, column: SqlColumn) -> bool:
    """Whether the column holds each value of a Spark type, as it is; what a string says is seen when it is written."""
    is_type = column.type
    if isinstance(kind, T.StringType):
        return is_type in _TEXTS
    if isinstance(kind, T.ArrayType | T.MapType | T.StructType | T.VariantType):
        return is_type in _JSON
    if type(kind) in _WIDTHS:
        size, digits = _WIDTHS[type(kind)]
        return _INTEGERS.get(is_type, 0) >= size or (is_type == "numeric" and _holds(column, digits, 0))
    if isinstance(kind, T.DecimalType):
        return is_type == "numeric" and _holds(column, kind.precision - kind.scale, kind.scale)
    if isinstance(kind, T.TimestampType):
        return is_type in ("timestamptz", "timestamp") and column.precision == _MICROSECONDS
    if isinstance(kind, T.TimestampNTZType):
        return is_type == "timestamp" and column.precision == _MICROSECONDS
    others: dict[type[T.DataType], tuple[str, ...]] = {
        T.BooleanType: ("bool",),
        T.FloatType: ("float4", "float8"),
        T.DoubleType: ("float8",),
        T.BinaryType: ("bytea",),
        T.DateType: ("date",),
    }
    return is_type in others.get(type(kind), ())


def _holds(column: SqlColumn, digits: int, scale: int) -> bool:
    if column.precision is None or column.scale is None:
        return True
    return column.scale >= scale and column.precision - column.scale >= digits
