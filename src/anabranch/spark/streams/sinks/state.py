"""What a sink knows of a query's batches, and whether one more is to be written.

Invariants
    B1  A start with a lower fence than the sink has seen writes nothing.
    B2  Of one checkpoint, a batch that is there is not written again, and none is written after a later one.
    B3  Another checkpoint counts its batches anew: nothing that is there keeps its batches from being written.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from anabranch.spark.streams.sinks.errors import BatchBehindError, WriterFencedError
from anabranch.spark.streams.sinks.port import QueryIdentity

NONE_YET = -1
_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class BatchState:
    """The last batch that a sink has of a query; ``checkpoint`` is Spark's id of the query, kept in its checkpoint."""

    fence: int
    checkpoint: str = ""
    batch: int = NONE_YET


@dataclass(frozen=True, slots=True)
class QueryWriter:
    """Who writes, as the sink's state names it."""

    sink: str
    query: str
    fence: int

    @classmethod
    def of(cls, sink: str, identity: QueryIdentity) -> QueryWriter:
        return cls(sink, f"{identity.job}/{identity.query}", identity.fence)

    def is_due(self, state: BatchState | None, writing: BatchState) -> bool:
        """Whether a batch is to be written (B1 to B3); raises ``WriterFencedError``, ``BatchBehindError``."""
        if state is None:
            return True
        if state.fence > self.fence:
            raise WriterFencedError(self.sink, self.query, self.fence, state.fence)
        if state.checkpoint != writing.checkpoint or state.batch < writing.batch:
            return True
        if state.batch > writing.batch:
            raise BatchBehindError(self.sink, self.query, writing.batch, state.batch)
        return False


def checkpoint_of(batch: DataFrame) -> str:
    """Spark's id of the query whose batch it is, which stays with the checkpoint; empty outside of a query."""
    return batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""
