"""Jars of a JVM runtime, brought once from a pinned pom into the project's own cache.

A runtime's directory is named by the digest of its pom and appears by rename, so one that exists is complete; a file
lock makes parallel processes wait for the one that brings it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
from filelock import FileLock

from anabranch.jars import central, maven
from anabranch.jars.errors import JarsNotResolvedError


@dataclass(frozen=True, slots=True)
class Runtime:
    """A name, the pom that pins its jars, and the SHA-256 sum of each jar by file name where they are locked, too."""

    name: str
    pom: bytes
    sums: Mapping[str, str] = field(default_factory=dict)

    @property
    def directory(self) -> str:
        """The name of its directory."""
        return f"{self.name}-{hashlib.sha256(self.pom).hexdigest()[:12]}"


def cache_directory() -> Path:
    """Where jars are kept: ``ANABRANCH_CACHE``, else ``.anabranch/jars`` of the work tree, else the user's cache."""
    chosen = os.environ.get("ANABRANCH_CACHE")
    if chosen:
        return Path(chosen) / "jars"
    work_tree = Path(__file__).resolve().parents[3]
    if (work_tree / "pyproject.toml").is_file() and (work_tree / "src" / "anabranch").is_dir():
        return work_tree / ".anabranch" / "jars"
    return platformdirs.user_cache_path("anabranch") / "jars"


def bring(runtime: Runtime) -> Path:
    """The directory with the jars of a runtime, brought if need be.

    By Maven, which knows the mirrors and proxies of the machine; without Maven jars with sums come from Maven Central.
    Raises ``MissingProgramError`` and ``JarsNotResolvedError``.
    """
    cache = cache_directory()
    target = cache / runtime.directory
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{target.name}.lock"):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(prefix=f".{runtime.name}-", dir=cache) as scratch:
                jars = Path(scratch) / "jars"
                if runtime.sums and not maven.is_here():
                    how = central.copy(runtime.name, runtime.pom, jars)
                else:
                    how = maven.copy(runtime.name, runtime.pom, jars)
                _check(runtime, jars, how)
                jars.rename(target)
    return target


def _check(runtime: Runtime, jars: Path, how: str) -> None:
    if not runtime.sums:
        return
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars.glob("*.jar")}
    wrong = sorted({name for name, _ in set(found.items()) ^ set(runtime.sums.items())})
    if wrong:
        other = f"{', '.join(wrong)}: not the files that are locked (SHA-256)"
        raise JarsNotResolvedError(runtime.name, how, other, "ask who runs the repository: it serves other files")
