"""Spark jobs that end with the verb that started them, and errors as a verb prints them."""

from __future__ import annotations

import signal
import subprocess
from typing import Any, AnyStr, NoReturn, Self

import typer
from rich.console import Console

from anabranch.cli.hints import aimed
from anabranch.errors import AnabranchError
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.outcome import JobFailedError

_END_S = 30.0
"""A job that has said why it failed still has to stop its JVM."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
            if number == signal.SIGINT:
                jobprocess.tell_interrupted(self._job)
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


def ended(process: subprocess.Popen[Any]) -> int | None:
    """The exit code of a job that is about to end; None if it does not."""
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        return None
