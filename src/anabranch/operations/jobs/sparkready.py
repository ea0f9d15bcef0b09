"""What this machine needs before a Spark job is started: each thing that is missing is one refusal, not a traceback."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.jars.connector import with_connector
from anabranch.jars.java import check_java_of_spark

_NUMBER = r"(?:\d+|\*)"
_LOCAL = re.compile(rf"local(?:\[\s*{_NUMBER}\s*(?:,\s*\d+\s*)?\])?|local-cluster\[[\d\s,]+\]|yarn")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://.+")


@dataclass(eq=False)
class SparkMissingError(ConfigError):
    """The part that runs on Spark is not installed here."""

    module: str

    _message = "this installation has no {module}: links run on Spark"
    _hint = "pip install 'anabranch[spark]'"


def check(master: str, modules: tuple[str, ...] = ("pyspark",)) -> None:
    """Look for the packages, for Java, and at the master's name.

    Raises ``SparkMissingError``, ``InvalidFieldError``, ``MissingProgramError``, ``JavaTooOldError``.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise SparkMissingError(module)
    if not _LOCAL.fullmatch(master) and not _URL.fullmatch(master):
        fix = "local[*], spark://HOST:7077, yarn or k8s://https://HOST:6443"
        raise InvalidFieldError("Spark", "--master", f"{master!r} is no master", fix)
    check_java_of_spark()


def check_reader(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The same for a job that reads with Spark's Kafka source; returns the settings with what brings the source.

    Raises also ``NoConnectorError`` and ``JarsNotResolvedError``.
    """
    check(master, ("pyspark", "numpy", "pyarrow"))
    return with_connector(settings)
