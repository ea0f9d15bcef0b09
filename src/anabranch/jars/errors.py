"""What can be missing on a machine that shall run a JVM."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ConfigError


@dataclass(eq=False)
class MissingProgramError(ConfigError):
    """A program or Python package that is needed is not on this machine."""

    program: str
    needed_for: str
    fix: str

    _message = "{program} was not found; {needed_for} needs it"
    _hint = "{fix}"


@dataclass(eq=False)
class JavaTooOldError(ConfigError):
    """The Java that Spark would be run with is older than what it needs."""

    path: str
    version: str
    needed: int

    _message = "{path} is Java {version}; Spark needs Java {needed} or newer"
    _hint = "install a Java {needed} runtime, and set JAVA_HOME to it"


@dataclass(eq=False)
class JarsNotResolvedError(ConfigError):
    """The jars of a runtime could not be brought; carries the end of what was said."""

    runtime: str
    how: str
    output: str
    fix: str = "check Maven's settings and the network, then run the same command again"

    _message = "the jars of {runtime} could not be brought {how}: {output}"
    _hint = "{fix}"


@dataclass(eq=False)
class NoConnectorError(ConfigError):
    """No Kafka connector is known for the Spark that is installed."""

    spark: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"no Kafka connector is known for Spark {self.spark}, only for {' and '.join(self.known)}"

    _hint = "bring it: --conf spark.jars=PATH,PATH (spark-sql-kafka-0-10 and what it needs)"


@dataclass(eq=False)
class NoSuchJarError(ConfigError):
    """A jar that the settings name is not on this machine; Spark would go on without it."""

    path: str

    _message = "spark.jars names {path}, which is not there"
    _hint = "name jars that are on this machine, or take it out: --conf spark.jars=PATH,PATH"
