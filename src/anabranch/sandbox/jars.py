"""Jars of a JVM runtime, brought once by Maven from a pinned pom into the project's own cache.

A runtime's directory is named by the digest of its pom and appears by rename, so one that exists is complete; a file
lock makes parallel processes wait for the one that resolves.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import platformdirs

from anabranch.sandbox.errors import JarsNotResolvedError, MissingProgramError

_OUTPUT_LINES = 6
# A repository may be away for a moment, and two of Maven's processes that fill one local repository may meet.
_ATTEMPTS = 3
_PAUSE_SECONDS = 2.0
_JAVA_HINT = "install a Java 17 runtime, or set JAVA_HOME to one"
_MAVEN_HINT = "install Apache Maven 3.8 or newer"


def cache_directory() -> Path:
    """Where jars are kept: ``ANABRANCH_CACHE``, else ``.anabranch/jars`` of the work tree, else the user's cache."""
    chosen = os.environ.get("ANABRANCH_CACHE")
    if chosen:
        return Path(chosen) / "jars"
    work_tree = Path(__file__).resolve().parents[3]
    if (work_tree / "pyproject.toml").is_file() and (work_tree / "src" / "anabranch").is_dir():
        return work_tree / ".anabranch" / "jars"
    return platformdirs.user_cache_path("anabranch") / "jars"


def java_program() -> str:
    """The ``java`` to run: of ``JAVA_HOME``, else of the path; raises ``MissingProgramError``."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        raise MissingProgramError("java", "a Kafka broker", _JAVA_HINT)
    return found


def runtime_jars(runtime: str) -> Path:
    """The directory with the jars of a runtime such as ``kafka-4.3.1`` or ``mirror-4.3.1``; resolves it if needed.

    Raises ``MissingProgramError`` without Maven and ``JarsNotResolvedError`` when Maven fails three times.
    """
    pom = resources.files("anabranch.sandbox").joinpath("poms", f"{runtime}.xml").read_bytes()
    cache = cache_directory()
    target = cache / f"{runtime}-{hashlib.sha256(pom).hexdigest()[:12]}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{target.name}.lock"):
        if not target.is_dir():
            _resolve(runtime, pom, target)
    return target


def class_path(runtime: str) -> str:
    """The JVM class path of a runtime."""
    return f"{runtime_jars(runtime)}/*"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _resolve(runtime: str, pom: bytes, target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingProgramError("mvn", f"bringing the jars of {runtime}", _MAVEN_HINT)
    with tempfile.TemporaryDirectory(prefix=f".{runtime}-", dir=target.parent) as scratch:
        pom_path, jars = Path(scratch) / "pom.xml", Path(scratch) / "jars"
        pom_path.write_bytes(pom)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        for attempt in range(_ATTEMPTS):
            # What could not be had is remembered by Maven, and not asked for again but with -U.
            again = ["-U"] if attempt else []
            done = subprocess.run(
                [maven, "-q", "-B", *again, "-f", str(pom_path), *goal],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if not done.returncode and any(jars.glob("*.jar")):
                jars.rename(target)
                return
            if attempt + 1 < _ATTEMPTS:
                time.sleep(_PAUSE_SECONDS)
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise JarsNotResolvedError(runtime, " ".join(lines[:_OUTPUT_LINES]))
