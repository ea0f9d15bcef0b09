"""Why a job that reads both clusters fails in Spark: a cluster is away, the JVM is gone, or Spark could not do it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.errors.exceptions.captured import CapturedException

from anabranch.errors import AnabranchError, ClusterError, ProtocolError
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.spark.errors import JvmGoneError
from anabranch.spark.link.ready import failure_message


@dataclass(eq=False)
class SparkFailedError(ProtocolError):
    """Spark could not do what it was asked for, and both clusters are there."""

    why: str

    _message = "Spark could not do it: {why}"
    _hint = "run the same command again; where it fails again, report it with the job's log"


def failure(error: Exception, *clusters: ClusterContext) -> AnabranchError | None:
    """What an exception of Spark's means; None for one that is not Spark's.

    Spark's words for a broker that is gone are those of a time that was over: so the clusters are asked.
    """
    if isinstance(error, (CapturedException, Py4JJavaError)):  # Java answers
        return asyncio.run(_away(clusters)) or SparkFailedError(failure_message(error))
    if isinstance(error, (Py4JError, ConnectionError)):
        return JvmGoneError.of(error)
    return None


async def _away(clusters: Iterable[ClusterContext]) -> ClusterError | None:
    for context in clusters:
        try:
            async with open_cluster(context) as cluster:
                await cluster.metadata([])
        except ClusterError as error:
            return error
    return None
