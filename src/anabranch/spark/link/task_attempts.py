"""Running tasks that may be unable to begin, however often Spark is told to try again.

A link's query lives for weeks, so ``spark.task.maxFailures`` is high, and it holds for every task of the application:
where Python does not start on an executor, Spark would start the same task a million times and never raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession

MOST_FAILED = 4
"""Attempts of tasks that may fail; what Spark itself takes by default."""
_GROUP = "anabranch-ready"
_LOOK_S = 0.2
_NEWEST = 20
T = TypeVar("T")


class TasksFailedError(Exception):
    """Attempts failed, of tasks that Spark would try again; the words of the newest one."""


def collect(spark: SparkSession, tasks: int, ask: Callable[[Iterable[int]], Iterator[T]]) -> list[T]:
    """What all tasks answer; raises TasksFailedError, or what Spark raises.

    The caller's thread stays free for signals: without any executor no task ever begins.
    """
    context, answer = spark.sparkContext, Future[list[T]]()

    def run() -> None:
        try:
            context.setJobGroup(_GROUP, "whether executors can copy", interruptOnCancel=True)  # of this thread alone
            answer.set_result(context.parallelize(range(tasks), tasks).mapPartitions(ask).collect())
        except BaseException as error:  # the caller's to raise
            answer.set_exception(error)

    Thread(target=run, name="ready", daemon=True).start()
    while not wait([answer], _LOOK_S).done:
        for stage, attempt in _failing(context):
            why = _why(context, stage, attempt)
            context.cancelJobGroup(_GROUP)
            raise TasksFailedError(why)
    return answer.result()


def _failing(context: SparkContext) -> Iterator[tuple[int, int]]:
    """Stages, and which attempt of each, of which too many tasks have failed."""
    tracker = context.statusTracker()
    for number in tracker.getJobIdsForGroup(_GROUP):
        job = tracker.getJobInfo(number)
        for stage in job.stageIds if job is not None else ():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numFailedTasks >= MOST_FAILED:
                yield stage, info.currentAttemptId


def _why(context: Any, stage: int, attempt: int) -> str:
    """What Spark noted of the newest attempt that failed."""
    tasks = context._jsc.sc().statusStore().taskList(stage, attempt, _NEWEST)
    said = [tasks.apply(at).errorMessage() for at in range(tasks.length())]
    return next((str(one.get()) for one in reversed(said) if one.isDefined()), "its tasks fail")
