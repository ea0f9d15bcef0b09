"""The Java of this machine."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from anabranch.jars.errors import JavaTooOldError, MissingProgramError

SPARK_NEEDS = 17
_HINT = "install a Java 17 runtime, or set JAVA_HOME to one"
_VERSION = re.compile(r'^JAVA_VERSION="((?:1\.)?(\d+)[^"]*)"', re.MULTILINE)


def java_program(needed_for: str) -> str:
    """The ``java`` to run: of ``JAVA_HOME``, else of the path; raises ``MissingProgramError``."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        where = f"java (JAVA_HOME is {home})" if home else "java"
        raise MissingProgramError(where, needed_for, _HINT)
    return found


def check_java_of_spark() -> None:
    """Find the Java that Spark runs with; raises ``MissingProgramError``, ``JavaTooOldError``.

    The version is read from the file ``release`` of the installation; where there is none, nothing is said of it.
    """
    found = java_program("Spark")
    try:
        release = (Path(found).resolve().parents[1] / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    version = _VERSION.search(release)
    if version is not None and int(version[2]) < SPARK_NEEDS:
        raise JavaTooOldError(found, version[1], SPARK_NEEDS)
