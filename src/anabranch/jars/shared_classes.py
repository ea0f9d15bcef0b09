"""Classes of a runtime that a JVM maps from a file in place of loading each: half the time of a start.

An archive is made by a run that ends (``making``), and used where it is there: a JVM of another build, or with other
jars, leaves it aside by itself.  Source: JEP 350.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from anabranch.jars.cache import cache_directory
from anabranch.jars.java import java_program

# That it leaves an archive aside is told by the JVM on the standard output, among what a program prints.
_MUTE = "-Xlog:cds=off,cds+dynamic=off,class+path=off"


@cache
def archive(runtime: str, jars: Path) -> Path:
    """Where the archive of a runtime's jars lies for the Java in use, whether or not it is there."""
    release = Path(java_program("a JVM")).resolve().parents[1] / "release"
    build = release.read_bytes() if release.is_file() else b""
    names = "".join(f"{one.name} {one.stat().st_mtime_ns}\n" for one in sorted(jars.glob("*.jar")))
    digest = hashlib.sha256(build + str(jars).encode() + names.encode()).hexdigest()[:12]
    return cache_directory() / "classes" / f"{runtime}-{digest}.jsa"


def using(runtime: str, jars: Path) -> list[str]:
    """The options of a JVM that uses the archive; none where there is no archive."""
    path = archive(runtime, jars)
    return [f"-XX:SharedArchiveFile={path}", _MUTE] if path.is_file() else []


def making(path: Path) -> list[str]:
    """The options of a JVM that writes the archive when it ends by itself or by SIGTERM."""
    return [f"-XX:ArchiveClassesAtExit={path}", _MUTE]


def forget_left(wanted: Path) -> None:
    """Remove what the JVMs of killed jobs wrote: they end in order, but nobody says whether they came to it."""
    for part in wanted.parent.glob(f"{wanted.stem}.*.part"):
        number = part.suffixes[-2].lstrip(".")
        if number.isdigit() and not _lives(int(number)):
            part.unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
