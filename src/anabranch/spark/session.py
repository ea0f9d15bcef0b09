"""The Spark session of a job: local by default, any master where it is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
}
ALWAYS = {
    # A lease must be read by one task at a time; a speculative twin would only take its lanes away and wait.
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.shuffle.partitions": "1",
}


def session(name: str, master: str | None, overrides: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Start or join a session; ``master`` None leaves it to ``spark-submit``, ``overrides`` win over all else."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    settings = dict(ALWAYS)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= LOCAL
    for key, value in (settings | dict(overrides)).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
