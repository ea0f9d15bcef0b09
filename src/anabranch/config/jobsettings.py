"""What each Spark job is started with: its settings, and the words of the tie to the command that started it."""

from __future__ import annotations

import re
from collections.abc import Mapping

TIED = "--tied"
DETACH = b"detach\n"
INTERRUPT = b"interrupt\n"
SAFE_PATH = "PYTHONSAFEPATH"
"""Nothing is imported from the working directory: a user's ``json.py`` would be taken for Python's own."""

ALWAYS = {
    # A lease must be read by one task at a time; a speculative attempt would only take its lanes away and wait.
    "spark.speculation": "false",
    # Leases run for weeks, on as many executors as there are: none is asked for because tasks wait, or given back.
    "spark.dynamicAllocation.enabled": "false",
    "spark.python.worker.reuse": "true",
    # Else workers import from their working directory first: a user's json.py in place of Python's own.
    f"spark.executorEnv.{SAFE_PATH}": "1",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.shuffle.partitions": "1",
}

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
}
"""Of a session on this machine alone."""

STATED_PYTHON = "spark.pyspark.python"
_HERE = re.compile(r"local(\[.*\])?")


def is_here(master: str | None) -> bool:
    """Whether the driver is the executor: ``local-cluster`` is elsewhere, None leaves it to ``spark-submit``."""
    return master is not None and _HERE.fullmatch(master) is not None


def master_name(master: str | None) -> str:
    """A master as it is told."""
    return master or "the master of spark-submit"


def session_settings(master: str | None, overrides: Mapping[str, str]) -> dict[str, str]:
    """What a session is started with; ``overrides`` win."""
    return ALWAYS | (LOCAL if (master or "").startswith("local") else {}) | dict(overrides)
