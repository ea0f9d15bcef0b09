"""A program that looks for what an upload needs: a process of its own with limits, ended with all that it began."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from anabranch.streams.artifacts.errors import UnresolvedDependencyError

SECONDS = 300.0
_LEAST_BYTES = 1 << 20
_LIMITED = """
import os, resource, sys
most, cpu = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.execv(sys.argv[3], sys.argv[3:])
"""


def limited(name: str, file: str, command: Sequence[str], most: int) -> tuple[int, str]:
    """The exit code of a command, which begins with a path, and what it printed; ``file`` is the upload.

    No file that it writes has more than ``most`` bytes (1 MiB at least).  Raises UnresolvedDependencyError after
    ``SECONDS``.
    """
    limits = str(max(most, _LEAST_BYTES)), str(int(SECONDS))
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _LIMITED, *limits, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        told, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise UnresolvedDependencyError(file, f"{name} has not found it within {SECONDS:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, told


def read_all(file: str, found: Iterable[Path], most: int) -> Mapping[str, bytes]:
    """What was brought for an upload, by its names; raises UnresolvedDependencyError where it is more than ``most``."""
    brought = sorted(found)
    if (total := sum(one.stat().st_size for one in brought)) > most:
        problem = f"what it needs has {total:,} bytes, more than {most:,}"
        raise UnresolvedDependencyError(file, problem, "require less, or raise the service's artifacts.most")
    return {one.name: one.read_bytes() for one in brought}
