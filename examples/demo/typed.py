"""Commands of ``anabranch`` as somebody types them: printed, run as processes of their own, and what they said."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.cli.hints import quoted
from anabranch.errors import ClusterError
from anabranch.sandbox.process import SupervisedProcess
from examples.demo.screen import Screen

_SECONDS = 900.0


@dataclass(eq=False)
class CommandFailedError(ClusterError):
    """A command did not do what the demo needs."""

    command: str
    code: int
    said: str

    @property
    def message(self) -> str:
        return f"`{self.command}` ended with {self.code}:\n{self.said}"

    _hint = "run `make demo` again on a machine with less to do"


class Running:
    """A command that runs."""

    def __init__(self, command: str, process: SupervisedProcess, out: Path) -> None:
        self._command = command
        self._process = process
        self._out = out

    @property
    def has_failed(self) -> bool:
        """Whether it has ended otherwise than well."""
        return bool(self._process.exit_code)

    def end(self) -> None:
        """Kill it, whatever it does."""
        self._process.kill()

    def lines(self) -> list[str]:
        """What it has said, once it has ended well; raises CommandFailedError."""
        if not self._process.wait(_SECONDS):
            self._process.kill()
        said = self._out.read_text(encoding="utf-8")
        if self._process.exit_code:
            told = self._out.with_suffix(".err").read_text(encoding="utf-8")
            raise CommandFailedError(self._command, self._process.exit_code, said + told)
        return said.rstrip().splitlines()


class Terminal:
    """Where commands are typed: in a directory, with what the service needs in the environment."""

    def __init__(self, screen: Screen, directory: Path, service: str, token: str, contexts: Path) -> None:
        self._screen = screen
        self._directory = directory
        self._environment: Mapping[str, str] = {
            **os.environ,
            "ANABRANCH_SERVICE": service,
            "ANABRANCH_TOKEN": token,
            "ANABRANCH_CONTEXTS": str(contexts),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "COLUMNS": "110",
            "NO_COLOR": "1",
        }
        self._number = 0

    def begin(self, *words: str) -> Running:
        """Print a command, and start it."""
        command = " ".join(["anabranch", *map(quoted, words)])
        self._screen.command(command)
        self._number += 1
        out = self._directory / f"command-{self._number}.out"
        program = [sys.executable, "-m", "anabranch", *words]
        # What goes on meanwhile is said on standard error, which is for a terminal.
        shell = ["sh", "-c", f'cd "$0" && exec "$@" 2>{out.stem}.err', str(self._directory), *program]
        return Running(command, SupervisedProcess.spawn(command, shell, out, self._environment), out)

    def type(self, *words: str) -> list[str]:
        """Print a command, run it to its end, and return its lines; raises CommandFailedError."""
        running = self.begin(*words)
        try:
            return running.lines()
        finally:
            running.end()
