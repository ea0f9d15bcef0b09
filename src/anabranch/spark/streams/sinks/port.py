"""What a sink is: it takes the rows of one ``INSERT``, micro-batch by micro-batch.

Invariant
    W1  A micro-batch is seen in the sink whole or not at all where the sink is exact, and once however often it is
        written: after a crash Spark asks for the same batch id again, with the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame
from pyspark.sql.functions import count, lit
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from anabranch.streams.tables import TableDeclaration


@dataclass(frozen=True, slots=True)
class QueryIdentity:
    """Whose rows they are: a query of a job, and which start of the job it is.

    ``query`` stays the same from start to start; ``fence`` rises with each.  A sink that can refuse a writer refuses
    one with a lower fence than it has seen.
    """

    job: str
    query: str
    fence: int


@dataclass(slots=True)
class SinkCounts:
    """What a sink has done since it was opened; read by metrics while it is written.

    ``records`` and ``bytes`` are of batches that it has taken, ``bytes`` None where nobody knows them.  ``errors`` are
    batches that it has not taken, ``retries`` how often a request to it was tried again.
    """

    records: int = 0
    bytes: int | None = None
    errors: int = 0
    retries: int = 0
    last_batch: int = -1


OBSERVED = "anabranch sink"
"""Under what a progress of Spark has the records that ``observed`` has seen."""


def observed(rows: DataFrame) -> DataFrame:
    """The same rows, which Spark counts as they are written: for sinks of which it does not say how many they took.

    A record of a task that Spark tried again may be counted twice.
    """
    return rows.observe(OBSERVED, count(lit(1)).alias("records"))


@runtime_checkable
class BatchSink(Protocol):
    """A sink that writes from ``foreachBatch``."""

    counts: SinkCounts

    def check(self, schema: StructType) -> None:
        """Raise what would keep every batch from being written: not reachable, no such table, columns that differ."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write a micro-batch (W1)."""

    def close(self) -> None:
        """Give connections back."""


@runtime_checkable
class NativeSink(Protocol):
    """A sink that Spark has itself, or a data source of ours that is registered with it."""

    counts: SinkCounts

    def check(self, schema: StructType) -> None:
        """As of a ``BatchSink``."""

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        """The writer to start: its format, options and output mode are set; trigger, checkpoint and name are not."""


@runtime_checkable
class CountedSink(Protocol):
    """A ``NativeSink`` that knows what its queries write."""

    def counts_of(self, query: str) -> SinkCounts:
        """Of the query of that id of Spark's, since it began."""


Sink = BatchSink | NativeSink


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A connector's writing half, as an entry point of the group ``anabranch.sinks`` gives it.

    ``provider`` is its name after USING; ``required`` and ``optional`` are its options with what each means.
    """

    provider: str
    open: Callable[[TableDeclaration, QueryIdentity], Sink]
    required: dict[str, str] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)
    exact: bool = False
