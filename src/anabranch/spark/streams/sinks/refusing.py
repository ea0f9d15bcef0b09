"""A batch that cannot be written as it is."""

from __future__ import annotations

from anabranch.spark.streams.sinks.chunks import BatchChunks
from anabranch.spark.streams.sinks.errors import DuplicateKeysError, RowRefusedError
from anabranch.spark.streams.sinks.rowplan import KeyedRows


def refuse(sink: str, rows: KeyedRows, chunks: BatchChunks) -> None:
    """Raise ``RowRefusedError`` or ``DuplicateKeysError`` for what the executors found."""
    if chunks.problem is not None:
        raise RowRefusedError(sink, chunks.problem)
    if chunks.duplicate is not None:
        raise DuplicateKeysError(sink, rows.keys, chunks.duplicate, bool(rows.order))
