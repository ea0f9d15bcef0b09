"""A streaming query that is started again where Spark could not start a Python worker in time.

Spark gives the worker that runs a Python source for the driver ten seconds to connect, and no setting changes that
(PythonWorkerFactory.createSimpleWorker): on a machine that stands still for so long a query would fail that has done
nothing wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryProgress

from anabranch.model.runevents import RunEvent, RunEventKind

LATE = "Python worker failed to connect back"
TRIES = 6


class RestartingQuery:
    """The query that ``begin`` starts, and starts again, up to five times in a row without a micro-batch between them.

    Nothing is lost or repeated by that: what a query of leases knows is in the clusters, and a lane is claimed again
    from whoever held it.
    """

    def __init__(self, begin: Callable[[], StreamingQuery], tell: Callable[[RunEvent], None]) -> None:
        self._begin = begin
        self._tell = tell
        self._tries = TRIES
        self._told = -1
        self._query = begin()

    @property
    def is_active(self) -> bool:
        """Whether Spark runs it now."""
        return bool(self._query.isActive)

    @property
    def newest(self) -> int:
        """The last micro-batch that ended, -1 for none."""
        progress = self._query.lastProgress
        return -1 if progress is None else int(progress["batchId"])

    def failure(self) -> Exception | None:
        """What has ended it, None while it runs or where it was stopped."""
        failure: Exception | None = self._query.exception()
        return failure

    def goes_on(self) -> bool:
        """Whether it runs, started again if a worker that came late has ended it."""
        if self.is_active:
            return True
        failure = self.failure()
        if failure is None or not self._is_forgiven(failure):
            return False
        self._query, self._told = self._begin(), -1
        return True

    def ended(self) -> Iterator[StreamingQueryProgress]:
        """The reports of micro-batches that have ended since the last call."""
        for progress in self._query.recentProgress:
            if progress["batchId"] > self._told:
                self._told = int(progress["batchId"])
                self._tries = TRIES
                yield progress

    def stop(self) -> None:
        """Stop it; lasts until its tasks have ended."""
        self._query.stop()

    def _is_forgiven(self, failure: Exception) -> bool:
        if LATE not in str(failure):
            return False
        self._tries -= 1
        if self._tries:
            self._tell(RunEvent(RunEventKind.RESTARTED, f"{LATE}; the query is started again"))
        return self._tries > 0
