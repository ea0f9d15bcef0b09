"""Whether executors have what a script needs of Python, asked of them before anything is opened or begun.

Rows that Spark reads and writes by itself need none; Kafka tables that are written, sinks of servers and functions of
Python do.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from pyspark.sql import SparkSession

from anabranch.config.jobspec import LinkJob
from anabranch.model.cluster import ClusterContext
from anabranch.spark.link import ready
from anabranch.spark.link.slots import cores
from anabranch.spark.streams.kafka_writing import KafkaTableSink
from anabranch.spark.streams.running import RunningQuery
from anabranch.spark.streams.sinks.console import ConsoleSink
from anabranch.spark.streams.sinks.port import BatchSink

_FIX = "send Anabranch there: `anabranch link package --out FILE`, and name it as `archive` of the launcher"


def check(spark: SparkSession, running: Sequence[RunningQuery], *, has_python: bool) -> None:
    """Ask as many tasks as there are cores; raises ExecutorNotReadyError, and KeyboardInterrupt where it is to end.

    Without any executor it waits for one.  ``has_python`` is whether the script has functions of Python.
    """
    written = [one.sink.context for one in running if isinstance(one.sink, KafkaTableSink)]
    in_tasks = [one for one in running if isinstance(one.sink, BatchSink) and not isinstance(one.sink, ConsoleSink)]
    if not (written or in_tasks or has_python) or not ready.is_needed(spark):
        return
    with _interrupted():
        ready.ask_executors(spark, [_job(one) for one in written], cores(spark) or 1, "run the stream", _FIX)


def _job(context: ClusterContext) -> LinkJob:
    return LinkJob("ready", "", context, context, 1.0)


@contextmanager
def _interrupted() -> Iterator[None]:
    """Signals raise meanwhile: there is no query yet that could end cleanly."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
