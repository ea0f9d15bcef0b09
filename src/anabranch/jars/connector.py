"""Spark's Kafka connector, which pyspark does not bring: locked, one for each version line of Spark.

``python -m anabranch.jars.connector`` prints the paths as ``spark-submit --jars`` takes them.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import sys
from collections.abc import Mapping
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from anabranch.errors import AnabranchError
from anabranch.jars.cache import Runtime, bring
from anabranch.jars.errors import NoConnectorError, NoSuchJarError

LOCKED = {"4.1": "spark-kafka-4.1.3", "4.2": "spark-kafka-4.2.0"}
"""By Spark's major and minor version; its interface to sources stays the same from patch to patch."""
_JARS = "spark.jars"
_SOURCE = "spark-sql-kafka-0-10*.jar"


def locked(name: str) -> Runtime:
    """A connector by its name, with what its jars must be."""
    poms = resources.files("anabranch.jars").joinpath("poms")
    words = [line.split() for line in poms.joinpath(f"{name}.sha256").read_text(encoding="utf-8").splitlines()]
    sums = {file: digest for digest, file in words}
    return Runtime(name, poms.joinpath(f"{name}.xml").read_bytes(), sums)


def connector(spark_version: str) -> tuple[Path, ...]:
    """The jars of the connector for a version of Spark, brought if need be.

    Raises ``NoConnectorError``, ``MissingProgramError``, ``JarsNotResolvedError``.
    """
    name = LOCKED.get(_line(spark_version))
    if name is None:
        raise NoConnectorError(spark_version, tuple(LOCKED))
    return tuple(sorted(bring(locked(name)).glob("*.jar")))


def with_connector(settings: Mapping[str, str], spark_version: str | None = None) -> dict[str, str]:
    """Spark settings that bring the connector beside other jars, unless they have it, or packages, or Spark has it.

    For a version of Spark that no connector is locked for, jars that are brought are left alone.  Raises
    NoSuchJarError, and what ``connector`` raises.
    """
    version, own = spark_version or metadata.version("pyspark"), settings.get(_JARS, "")
    _check_there(own)
    names = [Path(one.strip()).name for one in own.split(",")]
    if any(name.startswith(f"{_JARS}.") for name in settings) or fnmatch.filter(names, _SOURCE) or _is_in_spark():
        return dict(settings)
    if own and _line(version) not in LOCKED:
        return dict(settings)
    return {**settings, _JARS: ",".join([*([own] if own else []), *map(str, connector(version))])}


def _check_there(own: str) -> None:
    """Raise NoSuchJarError for a jar of this machine that is not there: of that Spark only warns."""
    for one in filter(None, (each.strip() for each in own.split(","))):
        place = urlsplit(one)
        if place.scheme in {"", "file"} and not glob.has_magic(one) and not Path(place.path).exists():
            raise NoSuchJarError(one)


def _line(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _is_in_spark() -> bool:
    home = os.environ.get("SPARK_HOME")
    package = find_spec("pyspark")
    homes = [Path(home)] if home else [Path(place) for place in (package and package.submodule_search_locations) or ()]
    return any(path.is_file() for one in homes for path in (one / "jars").glob(_SOURCE))


if __name__ == "__main__":
    try:
        print(",".join(map(str, connector(metadata.version("pyspark")))))
    except AnabranchError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
