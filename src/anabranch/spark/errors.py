"""Why there is no Spark."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError


@dataclass(eq=False)
class SparkNotStartedError(ConfigError):
    """Spark could not be started: no Java, a master that is none or does not answer, jars that are not there."""

    master: str
    why: str

    _message = "Spark could not be started on {master}: {why}"
    _hint = "check --master, --conf and JAVA_HOME, then run the same command again"
