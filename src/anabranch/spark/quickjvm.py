"""How the driver of a link starts its JVM: quickly, since that JVM plans leases and copies nothing.

Its classes come from an archive (:mod:`anabranch.jars.shared_classes`), made once by the first run on this machine that
ends in order, and only the quick compiler is used: measured on two cores, a session took 4.7 s of CPU in place of 16.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from anabranch.errors import AnabranchError
from anabranch.jars import shared_classes

OPTIONS = "SPARK_SUBMIT_OPTS"
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
"""Of the JVM that makes the command line of the one that is wanted."""
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_ARCHIVED_S = 30.0


class QuickJvm:
    """The environment in which a session starts its JVM; what the user set of it comes after ours, and wins."""

    def __init__(self) -> None:
        self._made: Path | None = None
        self._wanted: Path | None = None
        self._jvm: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Set it, where this process is to start the JVM and not the other way round."""
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            return
        given = os.environ.get(OPTIONS, "")
        os.environ[OPTIONS] = " ".join([_QUICK, *([] if "SharedArchive" in given else self._classes()), given]).strip()
        os.environ.setdefault(LAUNCHER_OPTIONS, _QUICK)

    def follow(self, spark: SparkSession) -> None:
        """Remember the JVM of a session; there is none of our own below ``spark-submit``."""
        self._jvm = getattr(getattr(spark.sparkContext, "_gateway", None), "proc", None)

    def end(self) -> None:
        """Once the session has stopped: wait for the archive, where this run makes it."""
        made, wanted, jvm = self._made, self._wanted, self._jvm
        if made is None or wanted is None or jvm is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            if jvm.stdin is not None:
                jvm.stdin.close()  # which ends it
            jvm.wait(_ARCHIVED_S)
            made.rename(wanted)
        made.unlink(missing_ok=True)

    def _classes(self) -> list[str]:
        jars = Path(pyspark.__file__).parent / "jars"
        runtime = f"spark-{pyspark.__version__}"
        try:
            used = shared_classes.using(runtime, jars)
            if used:
                return used
            self._wanted = shared_classes.archive(runtime, jars)
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
        except (AnabranchError, OSError):
            return []  # no Java, or no directory that we may write: told of elsewhere, or slower
        self._made = self._wanted.with_suffix(f".{os.getpid()}.part")
        return shared_classes.making(self._made)
