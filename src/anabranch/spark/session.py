"""The Spark session of a job: local by default, any master where it is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.sql import SparkSession

from anabranch.config.jobsettings import master_name, session_settings
from anabranch.spark.errors import JvmGoneError, SparkNotStartedError

_STOPPED = "on a stopped SparkContext"
"""In what Spark says where a standalone master did not answer for a minute."""


def session(name: str, master: str | None, overrides: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Start or join a session; ``master`` None leaves it to ``spark-submit``, ``overrides`` win over all else.

    Raises SparkNotStartedError, JvmGoneError.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in session_settings(master, overrides).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        check_jvm(error)  # it had listened
        why = _first_line(error)
        if _STOPPED in why:  # what it stopped for only its log tells
            why = f"it stopped as it began: the master does not answer, or has taken the application away ({why})"
        raise SparkNotStartedError(master_name(master), why) from error


def check_jvm(error: Exception) -> None:
    """Raise JvmGoneError for an error of a JVM that does not answer, which says nothing of what it was asked."""
    if isinstance(error, (Py4JError, ConnectionError)) and not isinstance(error, Py4JJavaError):
        raise JvmGoneError.of(error) from error


def _first_line(error: Exception) -> str:
    """What Java or Spark said, without its stack."""
    said = getattr(error, "java_exception", None)
    text = str(error if said is None else said.toString()).strip()
    return text.splitlines()[0][:500] if text else type(error).__name__
