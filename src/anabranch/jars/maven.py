"""Jars by Maven, with the settings that the machine has for it."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from anabranch.jars.errors import JarsNotResolvedError, MissingProgramError

_OUTPUT_LINES = 6
# A repository may be away for a moment, and two of Maven's processes that fill one local repository may meet.
_ATTEMPTS = 3
_PAUSE_SECONDS = 2.0
_HINT = "install Apache Maven 3.8 or newer"
_HOW = "with Maven"


def is_here() -> bool:
    """Whether there is a Maven."""
    return shutil.which("mvn") is not None


def copying(pom: Path, to: Path) -> list[str]:
    """The words by which Maven puts what a pom needs to run into a directory."""
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={to}", "-DincludeScope=runtime"]
    return ["-q", "-B", "-f", str(pom), *goal]


def copy(name: str, pom: bytes, jars: Path) -> str:
    """Put the jars of a pom into a directory, and say how; three attempts.

    Raises ``MissingProgramError`` without Maven and ``JarsNotResolvedError`` when it fails.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingProgramError("mvn", f"bringing the jars of {name}", _HINT)
    pom_path = jars.parent / "pom.xml"
    pom_path.write_bytes(pom)
    for attempt in range(_ATTEMPTS):
        # What could not be had is remembered by Maven, and not asked for again but with -U.
        again = ["-U"] if attempt else []
        done = subprocess.run(
            [maven, *again, *copying(pom_path, jars)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not done.returncode and any(jars.glob("*.jar")):
            return _HOW
        if attempt + 1 < _ATTEMPTS:
            time.sleep(_PAUSE_SECONDS)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    raise JarsNotResolvedError(name, _HOW, " ".join(lines[:_OUTPUT_LINES]))
