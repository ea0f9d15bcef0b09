"""Spark jobs that end with the verb that started them, and errors as a verb prints them."""

from __future__ import annotations

import signal
from typing import Any, NoReturn, Self

import typer

from anabranch.cli.hints import aimed
from anabranch.cli.output import error_console
from anabranch.errors import AnabranchError
from anabranch.operations.jobs.outcome import JobFailedError
from anabranch.operations.jobs.startedjob import StartedJob

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Tied:
    """A job that ends with the verb that started it, whichever signal ends the verb.

    Signal handlers raise nothing, so that no signal comes between the start of the process and the record of it; the
    verb sees its job end, and in ``asked`` why.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._job: StartedJob | None = None
        self._before: dict[int, Any] = {}

    async def __aenter__(self) -> Self:
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as nohup has it
        numbers = [number for number in _ENDING if not (ignored and number == signal.SIGHUP)]
        self._before = {number: signal.signal(number, self._ask) for number in numbers}
        return self

    def take(self, job: StartedJob) -> StartedJob:
        """Take over a started job; end it at once where the verb got a signal meanwhile."""
        self._job = job
        if self.asked:
            job.end()
        return job

    async def __aexit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._job is not None:
            await self._job.stop()

    def _ask(self, number: int, _frame: object) -> None:
        self.asked.append(number)
        if self._job is not None:
            self._job.end(interrupted=number == signal.SIGINT)


def report(error: AnabranchError) -> int:
    """Print an error and its hint; returns the exit code that its class documents."""
    console = error_console()
    console.print(f"error: {error.message}", style="red", highlight=False, soft_wrap=True)
    if error.hint:
        console.print(f"hint: {aimed(error.hint)}", highlight=False, soft_wrap=True)
    return error.exit_code


def fail(error: JobFailedError, exit_code: int) -> NoReturn:
    """Print how the job ended, and exit with the verb's code."""
    report(error)
    raise typer.Exit(exit_code)
