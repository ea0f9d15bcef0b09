"""A sink that sends micro-batches to a server, and keeps there which it has sent.

Invariants
    B1 to B3 of ``state``, which is read before each batch and kept after it.
    S1  A batch whose end was not heard of is not guessed: the next attempt reads the state.
    S2  Where the server has transactions, rows and state of a batch are committed together, and the state is locked
        from before it is read: of two writers one sees what the other has done.
    S3  The rows of each batch are computed, also where the server has it: a query with state keeps its state so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from anabranch.errors import AnabranchError
from anabranch.spark.streams.sinks.chunks import BatchChunks, RowEncoder, encoded
from anabranch.spark.streams.sinks.errors import SinkAwayError
from anabranch.spark.streams.sinks.port import SinkCounts
from anabranch.spark.streams.sinks.refusing import refuse
from anabranch.spark.streams.sinks.retrying import PassingError, Retrying
from anabranch.spark.streams.sinks.rowplan import KeyedRows
from anabranch.spark.streams.sinks.state import BatchState, QueryWriter, checkpoint_of

T = TypeVar("T")


class SinkServer(Protocol):
    """A connection of a sink.  Each method raises ``PassingError`` for what may be gone at the next attempt."""

    def check(self, schema: StructType) -> None:
        """Raise what would keep every batch from being written; make the place of the state where there is none."""

    def begin(self, query: str, writing: BatchState) -> BatchState | None:
        """Begin a batch: what the server has of a query.  A writer with a lower fence writes nothing from now on."""

    def load(self, columns: Sequence[str], chunk: bytes) -> None:
        """Send rows."""

    def merge(self, columns: Sequence[str]) -> None:
        """Put the rows that were sent where they belong."""

    def commit(self, query: str, state: BatchState) -> None:
        """Keep the state, and end the batch."""

    def close(self) -> None:
        """End the connection, and with it a transaction that is open."""


Encoders = Callable[[StructType, BatchState], RowEncoder]
"""By the rows' schema, and the state that is kept once they are written."""


class ServerSink:
    """A ``BatchSink`` on a server."""

    def __init__(
        self,
        writer: QueryWriter,
        rows: KeyedRows,
        encoder: Encoders,
        connect: Callable[[Retrying], SinkServer],
        retry_seconds: float,
    ) -> None:
        self.counts = SinkCounts(bytes=0)
        self._writer, self._rows, self._encoder, self._connect = writer, rows, encoder, connect
        self._retrying = Retrying(writer.sink, retry_seconds, self.counts)
        self._server: SinkServer | None = None
        self._claimed = False

    def check(self, schema: StructType) -> None:
        self._rows.check(self._writer.sink, schema)
        try:
            self._with_server(lambda server: server.check(schema))
        except PassingError as error:
            raise SinkAwayError(self._writer.sink, str(error)[:500]) from error

    def write(self, batch: DataFrame, batch_id: int) -> None:
        try:
            self._write(batch, batch_id)
        except AnabranchError:
            self.counts.errors += 1
            raise

    def close(self) -> None:
        self._retrying.closed.set()
        if self._server is not None:
            self._server.close()
            self._server = None

    def _write(self, batch: DataFrame, batch_id: int) -> None:
        writing = BatchState(self._writer.fence, checkpoint_of(batch), batch_id)
        if not self._claimed:
            # So an earlier start is fenced before this one computes its first batch, which may be there already.
            due = self._retrying.call(partial(self._with_server, partial(self._claim, writing)))
            self._claimed = True
            if not due:
                batch.write.format("noop").mode("overwrite").save()  # S3
                self.counts.last_batch = batch_id
                return
        with encoded(batch, self._rows.plan(batch.schema), self._encoder(batch.schema, writing)) as chunks:
            refuse(self._writer.sink, self._rows, chunks)
            once = partial(self._once, chunks, batch.schema.fieldNames(), writing)
            if self._retrying.call(partial(self._with_server, once)):
                self.counts.records += chunks.records
                self.counts.bytes = (self.counts.bytes or 0) + chunks.size
        self.counts.last_batch = batch_id

    def _claim(self, writing: BatchState, server: SinkServer) -> bool:
        state = server.begin(self._writer.query, writing)
        due = self._writer.is_due(state, writing)
        server.commit(self._writer.query, replace(state or BatchState(writing.fence), fence=writing.fence))
        return due

    def _once(self, chunks: BatchChunks, columns: Sequence[str], writing: BatchState, server: SinkServer) -> bool:
        query = self._writer.query
        state = server.begin(query, writing)
        due = self._writer.is_due(state, writing)
        if due and chunks.records:
            for chunk in chunks:
                server.load(columns, chunk)
            server.merge(columns)
        # What is there already is kept as it is: where the server has transactions this one ends.
        server.commit(query, writing if due or state is None else replace(state, fence=writing.fence))
        return due

    def _with_server(self, act: Callable[[SinkServer], T]) -> T:
        """Act on the connection, which ends where the act fails: what was begun is undone by the server."""
        if self._server is None:
            self._server = self._connect(self._retrying)
        try:
            return act(self._server)
        except BaseException:
            with suppress(Exception):
                self._server.close()
            self._server = None
            raise
