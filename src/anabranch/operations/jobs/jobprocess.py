"""Spark jobs as processes of their own, which end with the command that started them.

A signal that kills the command cannot be passed on, so a tied job holds the reading end of a pipe, its standard input,
and the command the writing end. The system closes that end however the command goes. A job that is to outlive its
command is told so before (:mod:`anabranch.operations.jobs.startedjob`), or was never tied.

A job is in a session of its own: what a terminal sends goes to the command, which passes it on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from anabranch.config.jobsettings import SAFE_PATH, TIED


def start(
    module: str,
    arguments: Sequence[str],
    *,
    out: IO[Any] | int | None,
    err: IO[Any] | None,
    tied: bool,
    held: IO[Any] | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[Any]:
    """Start a job's module with this Python; a job that is tied takes ``TIED``.

    ``out`` and ``err`` are as ``Popen`` has them, None is inherited; with ``subprocess.PIPE`` the output is text.
    ``held`` is as for ``spawn``; ``variables`` are more of its environment.
    """
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, **variables}
    command = [sys.executable, "-m", module, *arguments]
    return spawn(command, python, None, out=out, err=err, tied=tied, held=held)


def spawn(
    command: Sequence[str],
    variables: Mapping[str, str],
    directory: Path | None,
    *,
    out: IO[Any] | int | None,
    err: IO[Any] | None,
    tied: bool,
    held: IO[Any] | None = None,
) -> subprocess.Popen[Any]:
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
