"""Why there is no Spark, or none any more."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError, ProtocolError


@dataclass(eq=False)
class SparkNotStartedError(ConfigError):
    """Spark could not be started: no Java, a master that is none or does not answer, jars that are not there."""

    master: str
    why: str

    _message = "Spark could not be started on {master}: {why}"
    _hint = "check --master, --conf and JAVA_HOME, then run the same command again"


@dataclass(eq=False)
class JvmGoneError(ProtocolError):
    """Spark's JVM was killed, or ended by itself, under the job that used it."""

    why: str

    _message = "Spark's JVM is gone: {why}"
    _hint = "run the same command again; where the machine is out of memory: --conf spark.driver.memory=SIZE"

    @classmethod
    def of(cls, error: Exception) -> JvmGoneError:
        """By what the Python side of it was told."""
        return cls(str(error)[:500] or type(error).__name__)
