"""A checkpoint is moved as its owner does it: by ``anabranch checkpoint rewrite``."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from qa.streamjobs.spec import JobSpec, QuerySpec, Trigger
from qa.timeouts import LONG_TIMEOUT_S

_SECONDS = 1.5 * LONG_TIMEOUT_S


class MoveRefusedError(Exception):
    """The rewrite was refused, or failed; the text is what was printed."""


class CommandLine:
    """The program with a contexts file."""

    def __init__(self, contexts: Path) -> None:
        self._contexts = contexts

    def rewrite(self, query: QuerySpec, *arguments: str) -> str:
        """Plan, show and carry out; raises MoveRefusedError."""
        return self("checkpoint", "rewrite", query.checkpoint, *arguments, "--stopped", "--execute")

    def __call__(self, *arguments: str) -> str:
        """Run a verb; returns what it printed; raises MoveRefusedError where it does not succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "anabranch", "--contexts", str(self._contexts), *arguments],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode:
            raise MoveRefusedError(f"{shlex.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


def finish_command(query: QuerySpec, directory: Path, warehouse: str) -> str:
    """The command that runs the batch that the query has begun, on the cluster where it was, and ends."""
    file = directory / f"{query.name}-finish.json"
    once = replace(query, trigger=Trigger.ONCE, hold=None)
    file.write_text(JobSpec((once,), str(directory / f"{query.name}-finish"), warehouse).to_json())
    return shlex.join(_job(file))


def _job(file: Path) -> Sequence[str]:
    return [sys.executable, "-m", "qa.streamjobs.job", str(file)]
