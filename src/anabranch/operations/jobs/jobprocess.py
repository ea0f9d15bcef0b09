"""Spark jobs as processes of their own, which end with the command that started them.

A signal that kills the command cannot be passed on, so a tied job holds the reading end of a pipe, its standard input,
and the command the writing end. The system closes that end however the command goes. A job that is to outlive its
command is told so before (:func:`detach`), or was never tied.

A job is in a session of its own: what a terminal sends goes to the command, which passes it on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from anabranch.config.jobsettings import DETACH, INTERRUPT, SAFE_PATH, TIED


@dataclass(frozen=True, slots=True)
class StartedLink:
    """A run of a link: its name, its process, and the file with what Spark prints."""

    run: str
    process: subprocess.Popen[bytes]
    log: Path


def start(module: str, arguments: Sequence[str], *, out: IO[Any] | int | None, err: IO[Any] | None, tied: bool) -> Any:
    """Start a job's module with this Python and return its ``Popen``; a job that is tied takes ``TIED``.

    ``out`` and ``err`` are as ``Popen`` has them, None is inherited; with ``subprocess.PIPE`` the output is text.
    """
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, "-m", module, *arguments]
    return spawn(command, python, None, out=out, err=err, tied=tied)


def spawn(
    command: Sequence[str],
    variables: Mapping[str, str],
    directory: Path | None,
    *,
    out: IO[Any] | int | None,
    err: IO[Any] | None,
    tied: bool,
    held: IO[Any] | None = None,
) -> Any:
    """``start`` by a whole command, with more variables of the environment, in a working directory.

    The job keeps the file ``held`` open, and so its lock, until it ends.
    """
    return subprocess.Popen(
        [*command, *([TIED] if tied else [])],
        env={**os.environ, **variables, SAFE_PATH: "1"},
        cwd=directory,
        stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        text=out == subprocess.PIPE,
        start_new_session=True,
        pass_fds=() if held is None else (held.fileno(),),
    )


def detach(job: subprocess.Popen[Any]) -> None:
    """Let a tied job run on without this command."""
    if job.stdin is not None:
        with suppress(OSError):  # it has ended
            os.write(job.stdin.fileno(), DETACH)
            job.stdin.close()


def tell_interrupted(job: subprocess.Popen[Any]) -> None:
    """Tell a tied job that is about to be ended that it was Ctrl-C which ended its command: it says so."""
    if job.stdin is not None:
        with suppress(OSError, ValueError):  # it has ended, or was let go
            os.write(job.stdin.fileno(), INTERRUPT)
