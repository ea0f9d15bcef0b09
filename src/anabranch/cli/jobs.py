"""How a Spark job ended that a verb started: its last error as text, and the verb's exit code."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, AnyStr, NoReturn, Self

import typer
from rich.console import Console

from anabranch.cli.hints import aimed
from anabranch.errors import AnabranchError, ProtocolError

_END_S = 30.0
"""A job that has said why it failed still has to stop its JVM."""
_LOG_LINES = 5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(eq=False)
class JobFailedError(AnabranchError):
    """A Spark job ended, or was killed, without the answer that it was started for."""

    what: str
    code: int | None
    why: str
    fix: str = ""

    @property
    def message(self) -> str:
        return f"{self.what}: {how_it_ended(self.code)}" + (f": {self.why}" if self.why else "")

    _hint = "{fix}"


class Tied:
    """A job that ends with the verb that started it, whichever signal ends the verb.

    Signal handlers raise nothing, so that no signal comes between the start of the process and the record of it; the
    verb sees its job end, and in ``asked`` why.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._job: subprocess.Popen[Any] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as nohup has it
        numbers = [number for number in _ENDING if not (ignored and number == signal.SIGHUP)]
        self._before = {number: signal.signal(number, self._ask) for number in numbers}
        return self

    def take(self, job: subprocess.Popen[AnyStr]) -> subprocess.Popen[AnyStr]:
        """Take over a started job; end it at once where the verb got a signal meanwhile."""
        self._job = job
        if self.asked:
            job.terminate()
        return job

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._job is not None and self._job.poll() is None:
            self._job.terminate()
            if ended(self._job) is None:
                self._job.kill()
                self._job.wait()

    def _ask(self, number: int, _frame: object) -> None:
        self.asked.append(number)
        if self._job is not None and self._job.poll() is None:
            self._job.terminate()


def report(error: AnabranchError, console: Console) -> int:
    """Print an error and its hint; returns the exit code that its class documents."""
    console.print(f"error: {error.message}", style="red", markup=False, highlight=False, soft_wrap=True)
    if error.hint:
        console.print(f"hint: {aimed(error.hint)}", markup=False, highlight=False, soft_wrap=True)
    return error.exit_code


def fail(error: JobFailedError, exit_code: int) -> NoReturn:
    """Print how the job ended, and exit with the verb's code."""
    report(error, Console(stderr=True))
    raise typer.Exit(exit_code)


def exit_code(code: int | None) -> int:
    """The exit code of a verb whose job ended with ``code`` and without an answer: never 0; 5 where it was killed."""
    return code if code is not None and code > 0 else ProtocolError.exit_code


def how_it_ended(code: int | None) -> str:
    """An exit code of a process in words."""
    if code is None:
        return "the job has not ended"
    if code >= 0:
        return f"the job ended with {code}"
    try:
        return f"the job was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the job was killed by signal {-code}"


def ended(process: subprocess.Popen[Any]) -> int | None:
    """The exit code of a job that is about to end; None if it does not."""
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        return None


def last_error(log: Path) -> tuple[str, str]:
    """The last error of a job and its hint, as its log has them; else the log's last lines."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError as error:
        return str(error), ""
    hint = ""
    for line in reversed(lines):
        if line.startswith("hint: "):
            hint = line.removeprefix("hint: ")
        if line.startswith("error: "):
            return line.removeprefix("error: "), hint
        try:
            fields = json.loads(line)
            return str(fields["error"]), str(fields.get("hint", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return "\n".join(lines[-_LOG_LINES:]), ""
