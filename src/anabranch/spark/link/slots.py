"""How many tasks a micro-batch of leases has: as many as the executors that are there can run at once.

A lease without a core waits until another one is over, for minutes, and its lanes stand still.  Executors come and go,
so the driver counts their cores again and again and writes the number into a file, which the planner, another process
on the same machine, reads before each micro-batch; what it took it writes into a second one.  Where both differ the
leases are ended, again and again until they agree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

SETTLE_S = 1.0
"""How long another number must last: an executor that ended is often replaced at once."""
AGAIN_S = 5.0
"""Between two times that leases are ended: a micro-batch has begun by then."""


class Slots:
    """The number of tasks, followed by the driver; ``limit`` is the most that is wanted."""

    def __init__(self, directory: Path, limit: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.file = SlotsFile(directory / "slots")
        self._limit = limit
        self._clock = clock
        self._wanted = 0
        self._next = 0
        self._since = 0.0
        self._told = float("-inf")

    def follow(self, cores: int) -> bool:
        """Take notice of how many tasks can run now; whether leases that were made for another number should end."""
        number = max(1, cores if self._limit is None else min(cores, self._limit))
        if number != self._next:
            self._next, self._since = number, self._clock()
        if number != self._wanted and (not self._wanted or self._clock() - self._since >= SETTLE_S):
            self._wanted = number
            self.file.want(number)
        taken = self.file.taken()
        return taken not in {None, self._wanted} and self._clock() - self._told >= AGAIN_S

    def told(self) -> None:
        """The leases were told to end."""
        self._told = self._clock()


class SlotsFile:
    """The two numbers between the driver and its planner."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def want(self, number: int) -> None:
        """Write how many tasks the next micro-batch shall have."""
        _write(self._path, number)

    def take(self) -> int:
        """How many the next micro-batch has; from now on they are taken."""
        number = int(self._path.read_text())
        _write(self._taken, number)
        return number

    def taken(self) -> int | None:
        """How many the newest micro-batch has, None before the first."""
        try:
            return int(self._taken.read_text())
        except FileNotFoundError:
            return None

    @property
    def _taken(self) -> Path:
        return self._path.with_suffix(".taken")


def cores(spark: SparkSession) -> int:
    """How many tasks the executors that are registered now can run at once; 0 where there is none."""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def _write(path: Path, number: int) -> None:
    draft = path.with_suffix(f"{path.suffix}.part")
    draft.write_text(str(number))
    os.replace(draft, path)
