"""The Spark session of a job: local by default, any master where it is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import SparkSession

from anabranch.config.jobsettings import ALWAYS
from anabranch.errors import ConfigError

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
}


@dataclass(eq=False)
class SparkNotStartedError(ConfigError):
    """Spark could not be started: no Java, a master that is none or does not answer, jars that are not there."""

    master: str
    why: str

    _message = "Spark could not be started on {master}: {why}"
    _hint = "check --master, --conf and JAVA_HOME, then run the same command again"


def session(name: str, master: str | None, overrides: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Start or join a session; ``master`` None leaves it to ``spark-submit``, ``overrides`` win over all else.

    Raises SparkNotStartedError.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    settings = dict(ALWAYS)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= LOCAL
    for key, value in (settings | dict(overrides)).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise SparkNotStartedError(master or "the master of spark-submit", _first_line(error)) from error


def _first_line(error: Exception) -> str:
    """What Java or Spark said, without its stack."""
    said = getattr(error, "java_exception", None)
    text = str(error if said is None else said.toString()).strip()
    return text.splitlines()[0][:500] if text else type(error).__name__
