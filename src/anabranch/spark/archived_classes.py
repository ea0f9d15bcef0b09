"""The classes of a job's JVM, from an archive (:mod:`anabranch.jars.shared_classes`) in place of loading each.

The first job of a kind on this machine that ends in order makes the archive, which takes it some seconds once.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from pyspark import SparkContext

from anabranch.errors import AnabranchError
from anabranch.jars import shared_classes
from anabranch.jars.spark_home import spark_home

OPTIONS, PORT = "SPARK_SUBMIT_OPTS", "PYSPARK_GATEWAY_PORT"
_CHOSEN = ("SharedArchive", "ArchiveClasses", "-Xshare")
_ARCHIVED_S = 60.0


class ArchivedClasses:
    """Of one kind of job; what the user says about archives wins, and what cannot be had costs time alone."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._made: Path | None = None
        self._wanted: Path | None = None

    def begin(self, makes: bool) -> None:
        """Have the JVM that is started next use the archive; where there is none, and it ``makes`` one, write it."""
        given = os.environ.get(OPTIONS, "")
        if PORT in os.environ or any(word in given for word in _CHOSEN):
            return
        options = self._options(makes)
        if options:
            os.environ[OPTIONS] = " ".join([*options, given]).strip()

    def end(self) -> None:
        """Once the session has stopped: end the JVM and keep the archive, where it makes it."""
        made, wanted, self._made = self._made, self._wanted, None
        jvm = getattr(SparkContext._gateway, "proc", None)
        if made is None or wanted is None or jvm is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            if jvm.stdin is not None:
                jvm.stdin.close()  # which ends it
            jvm.wait(_ARCHIVED_S)
            made.rename(wanted)
        made.unlink(missing_ok=True)

    def _options(self, makes: bool) -> list[str]:
        jars = spark_home() / "jars"
        try:
            runtime = f"spark-{metadata.version('pyspark')}-{self._kind}"
            used = shared_classes.using(runtime, jars)
            if used or not makes:
                return used
            self._wanted = shared_classes.archive(runtime, jars)
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
            shared_classes.forget_left(self._wanted)
        except (AnabranchError, OSError, metadata.PackageNotFoundError):
            return []  # no Java: told elsewhere; no directory that we may write, a Spark not of pip: slower
        self._made = self._wanted.with_suffix(f".{os.getpid()}.part")
        return shared_classes.making(self._made)
