"""A look at the rows of one SELECT: read, shown as they come, and written nowhere.

Invariants
    V1  no offset is committed and no group is made: Spark assigns partitions itself.
    V2  the checkpoint is a directory of this process, and is gone with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.errors import ProtocolError
from anabranch.spark.scratch import ScratchDirectory
from anabranch.spark.streams.failing import innermost
from anabranch.spark.streams.modes import first_mode
from anabranch.spark.streams.refusals import sentence

MOST_PER_BATCH = 10_000
"""Records that a micro-batch of a preview reads at most, of each Kafka table."""
_LOOK_S = 0.1
ShowRows = Callable[[int, Sequence[Row]], int]
"""Takes the rows of a batch, and says how many of them it took: with fewer than all it takes no more."""


@dataclass(eq=False)
class PreviewFailedError(ProtocolError):
    """A preview's query failed in Spark."""

    why: str
    condition: str = ""
    fix: str = ""

    _message = "the preview failed: {why}"
    _hint = "{fix}"


@dataclass(slots=True)
class _Shown:
    most: int
    show: ShowRows
    rows: int = 0
    is_full: bool = False

    @property
    def has_all(self) -> bool:
        return self.is_full or self.rows >= self.most

    @property
    def limit(self) -> str | None:
        return "bytes" if self.is_full else "rows" if self.rows >= self.most else None

    def take(self, batch: DataFrame, batch_id: int) -> None:
        if self.has_all:
            return
        found = batch.take(self.most - self.rows)
        taken = self.show(batch_id, found) if found else 0
        self.rows += taken
        self.is_full = taken < len(found)


def preview(
    rows: DataFrame, most: int, seconds: float, is_asked: Callable[[], bool], show: ShowRows
) -> tuple[str, str | None, int]:
    """Show at most so many rows, for at most so long.

    Returns ``finished``, ``timeout`` or ``stopped``, the limit that ended it (``rows``, ``bytes``, ``seconds`` or
    None), and how many rows there were.  Raises PreviewFailedError.
    """
    found = _Shown(most, show)
    try:
        if not rows.isStreaming:
            found.take(rows, 0)
            return "finished", found.limit, found.rows
        with ScratchDirectory("preview") as scratch:
            place = (scratch.path / "checkpoint").as_uri()
            mode = first_mode(rows, ("append", "update", "complete"))
            query = (
                rows.writeStream.foreachBatch(found.take).outputMode(mode).option("checkpointLocation", place).start()
            )
            try:
                outcome = _until(query, found, time.monotonic() + seconds, is_asked)
                return outcome, "seconds" if outcome == "timeout" else found.limit, found.rows
            finally:
                query.stop()
    except PreviewFailedError:
        raise
    except Exception as error:
        condition, why, fix = sentence(error)
        raise PreviewFailedError(why, condition, fix) from error


def _until(query: StreamingQuery, found: _Shown, deadline: float, is_asked: Callable[[], bool]) -> str:
    while not found.has_all:
        failed = query._jsq.exception()
        if failed.isDefined():
            condition, why, fix = innermost(failed.get())
            raise PreviewFailedError(why, condition, fix)
        if is_asked():
            return "stopped"
        if time.monotonic() > deadline:
            return "timeout"
        time.sleep(_LOOK_S)
    return "finished"
