"""The bytes that a query's tasks have written, for connectors of which Spark's progress does not tell them.

Spark adds up what the tasks of a stage wrote.  It is looked up by the query's job group after a micro-batch: no file
and no log of a table is read for it.

Invariants
    B1  each job is counted once, and none that failed: its files are of no table.
    B2  what is asked with ``is_last`` has every job that ended before; else the last one may come with the next.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.sql import SparkSession

_RUNNING, _SUCCEEDED = "RUNNING", "SUCCEEDED"
_FLUSH_MS = 10_000
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class WrittenBytes:
    """Of one run of a query, whose id is the group of its jobs."""

    spark: SparkSession
    group: str
    total: int = 0
    _counted: set[int] = field(default_factory=set)

    def look(self, is_last: bool = False) -> int:
        """All bytes so far; Spark's events are a moment behind, and ``is_last`` waits for them (B2)."""
        context: Any = self.spark.sparkContext._jsc.sc()
        try:
            if is_last:
                context.listenerBus().waitUntilEmpty(_FLUSH_MS)
            there = self._jobs(context)
            for job in sorted(there - self._counted):
                if (written := self._of_job(context.statusStore(), job)) is not None:
                    self.total += written
                    self._counted.add(job)
            self._counted &= there  # Spark forgets the oldest, and gives no number twice
        except Py4JJavaError as error:  # a job may be forgotten as it is looked up: no figure is worth a run
            _LOG.warning("bytes of %s are not counted: %s", self.group, str(error.java_exception)[:200])
        return self.total

    def _jobs(self, context: Any) -> set[int]:
        """Those of the group, as one text: of an array each number would be asked for by itself."""
        jvm: Any = self.spark._jvm
        text = str(jvm.java.util.Arrays.toString(context.statusTracker().getJobIdsForGroup(self.group)))
        return {int(number) for number in text.strip("[]").split(", ") if number}

    def _of_job(self, store: Any, number: int) -> int | None:
        """What a job has written; None while it runs."""
        job = store.job(number)
        status = job.status().toString()
        if status != _SUCCEEDED:
            return None if status == _RUNNING else 0
        stages = job.stageIds()
        return sum(self._of_stage(store, int(stages.apply(at))) for at in range(stages.size()))

    def _of_stage(self, store: Any, number: int) -> int:
        """All attempts: a later one writes only what an earlier one has not."""
        gateway: Any = self.spark.sparkContext._gateway
        attempts = store.stageData(
            number, False, gateway.jvm.java.util.ArrayList(), False, gateway.new_array(gateway.jvm.double, 0)
        )
        return sum(int(attempts.apply(at).outputBytes()) for at in range(attempts.size()))
