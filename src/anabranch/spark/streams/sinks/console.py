"""The sink ``console``: the rows of each micro-batch, or the first of them, told as they come and kept nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from anabranch.errors import InvalidFieldError
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts, SinkKind
from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration

ROWS = "rows"
Show = Callable[[str, int, Sequence[str], Sequence[Row], bool], Any]
"""Query, batch, names of columns, rows, and whether there were more."""


class ConsoleSink:
    """Counts all rows of a batch, and shows as many as its option says."""

    def __init__(self, show: Show, table: TableDeclaration, identity: QueryIdentity) -> None:
        self.counts = SinkCounts()
        self._show = show
        self._query = identity.query
        text = option(table, ROWS, "20")
        if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 10_000:
            raise InvalidFieldError(f"table {table.name}", ROWS, f"{text!r} is no number from 1 to 10000")
        self._most = int(text)

    def check(self, schema: StructType) -> None:
        """Any rows can be shown."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        try:
            count, rows = batch.count(), batch.take(self._most)
        finally:
            batch.unpersist()
        self.counts.records += count
        self.counts.last_batch = batch_id
        if rows:
            self._show(self._query, batch_id, batch.columns, rows, count > len(rows))

    def close(self) -> None:
        """Nothing is kept open."""


def console_kind(show: Show) -> SinkKind:
    """The sink that shows rows by a function."""
    return SinkKind(
        "console",
        lambda table, identity: ConsoleSink(show, table, identity),
        optional={ROWS: "how many rows of a micro-batch are shown at most"},
    )
