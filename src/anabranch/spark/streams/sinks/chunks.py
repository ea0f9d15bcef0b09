"""A micro-batch as pieces of bytes: made by the executors in parallel, sent by the driver over one connection.

So a batch can be one transaction, only the driver knows secrets and reaches the server, and the driver holds
``PART_BYTES`` at a time, however large the batch is.

Invariants
    C1  Every row of the batch is in one piece, or the batch has a problem; nothing is cut or changed.
    C2  With keys and ``distinct`` no two rows of a batch have one key, or it has a duplicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

CHUNK_BYTES = 256 * 1024
PART_BYTES = 16 * 1024 * 1024
_SCHEMA = "data binary, records bigint, problem string, duplicate string"
_ARROW = pa.schema(
    [("data", pa.binary()), ("records", pa.int64()), ("problem", pa.string()), ("duplicate", pa.string())]
)
# As a reader of JSON expects it: every field, points in time in UTC with all that Spark knows of them.
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}


class ValueProblem(ValueError):
    """A value that the sink cannot take as it is."""


def column_texts(
    names: Sequence[str],
    kinds: Sequence[DataType],
    columns: Sequence[Sequence[Any]],
    text_of: Callable[[DataType], Callable[[Any], str]],
    null: str,
) -> Iterator[tuple[str, ...]]:
    """Each row's texts, of columns of values; raises ``ValueProblem`` that names the column."""
    texts = []
    for name, kind, values in zip(names, kinds, columns, strict=True):
        text = text_of(kind)
        try:
            texts.append([null if value is None else text(value) for value in values])
        except ValueProblem as problem:
            raise ValueProblem(f"column {name}: {problem}") from None
    return zip(*texts, strict=True)


class RowEncoder(Protocol):
    """How rows become bytes; it is sent to the executors."""

    def rows(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        """Each row's bytes, of columns of values as Arrow gives them; raises ``ValueProblem``."""

    def chunk(self, rows: Sequence[bytes]) -> bytes:
        """What is sent for some rows."""


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Which columns become bytes, in order; ``nested`` of them as JSON.

    ``order`` are columns of which the greatest row of a key stays; ``distinct`` asks Spark for rows of one key, where
    the server cannot say it.  ``document`` names the fields of a JSON object, one more column at the end.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    nested: frozenset[str] = frozenset()
    distinct: bool = False
    document: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchChunks:
    """A batch that was encoded; ``problem`` and ``duplicate`` tell why it cannot be written."""

    frame: DataFrame
    records: int
    size: int
    problem: str | None
    duplicate: str | None

    def __iter__(self) -> Iterator[bytes]:
        """The pieces, as often as they are asked for."""
        if not self.records:
            return
        parts = self.frame.where("data IS NOT NULL").select("data").coalesce(1 + self.size // PART_BYTES)
        for row in parts.toLocalIterator(prefetchPartitions=True):
            yield bytes(row[0])


@contextmanager
def encoded(batch: DataFrame, plan: RowPlan, encoder: RowEncoder) -> Iterator[BatchChunks]:
    """The batch's pieces, which Spark keeps for as long as the block lasts."""
    rows, counted = _prepared(batch, plan)
    keys = tuple(plan.columns.index(one) for one in plan.keys)
    encode = partial(_encoded, encoder, plan.columns, keys, counted)
    frame = rows.mapInArrow(encode, _SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        told = frame.select("records", F.length("data"), "problem", "duplicate").collect()
        yield BatchChunks(
            frame,
            sum(row[0] for row in told),
            sum(row[1] or 0 for row in told),
            min((row[2] for row in told if row[2] is not None), default=None),
            min((row[3] for row in told if row[3] is not None), default=None),
        )
    finally:
        frame.unpersist()


def _prepared(batch: DataFrame, plan: RowPlan) -> tuple[DataFrame, bool]:
    """The columns to encode, and whether one more at the end counts the rows of each key."""
    counted = bool(plan.keys) and (plan.distinct or bool(plan.order))
    columns = [F.to_json(_column(one), _JSON) if one in plan.nested else _column(one) for one in plan.columns]
    if plan.document:
        columns.append(F.to_json(F.struct(*map(_column, plan.document)), _JSON))
    if not counted:
        return batch.select(*columns), False
    of_key = Window.partitionBy(*map(_column, plan.keys))
    rank, count = _free_name("rank", batch.columns), _free_name("count", batch.columns)
    if plan.order:
        newest = of_key.orderBy(*(_column(one).desc() for one in plan.order))
        batch = batch.withColumn(rank, F.rank().over(newest)).where(_column(rank) == 1)
    return batch.withColumn(count, F.count(F.lit(1)).over(of_key)).select(*columns, _column(count)), True


def _column(name: str) -> Column:
    return F.col(f"`{name.replace('`', '``')}`")


def _free_name(name: str, taken: Sequence[str]) -> str:
    lowered = {one.lower() for one in taken}
    while name in lowered:
        name += "_"
    return name


def _encoded(
    encoder: RowEncoder,
    names: Sequence[str],
    keys: Sequence[int],
    counted: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """On an executor: pieces of about ``CHUNK_BYTES``, then how many rows they have, and what is wrong with them."""
    waiting: list[bytes] = []
    size = 0
    for batch in batches:
        try:
            columns = [_values(name, batch.column(n)) for n, name in enumerate(names)]
            columns += [batch.column(n).to_pylist() for n in range(len(names), batch.num_columns - counted)]
            for n in keys:
                if batch.column(n).null_count:
                    raise ValueProblem(f"key column {names[n]} is null")
            if counted and (example := _duplicate(batch.column(batch.num_columns - 1), [columns[n] for n in keys])):
                yield _row(None, 0, None, example)
                return
            for row in encoder.rows(columns):
                waiting.append(row)
                size += len(row)
                if size >= CHUNK_BYTES:
                    yield _row(encoder.chunk(waiting), len(waiting), None, None)
                    waiting, size = [], 0
        except ValueProblem as problem:
            yield _row(None, 0, str(problem), None)
            return
    if waiting:
        yield _row(encoder.chunk(waiting), len(waiting), None, None)


def _values(name: str, column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types
    except (ValueError, OverflowError) as error:
        raise ValueProblem(f"column {name}: {str(error)[:200]} (years 1 to 9999 can be written)") from error


def _duplicate(counts: pa.Array, keys: Sequence[Sequence[Any]]) -> str | None:
    found = next((n for n, count in enumerate(counts.to_pylist()) if count > 1), None)
    return None if found is None else ", ".join(str(values[found]) for values in keys)[:200]


def _row(data: bytes | None, records: int, problem: str | None, duplicate: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"data": data, "records": records, "problem": problem, "duplicate": duplicate}], _ARROW
    )
