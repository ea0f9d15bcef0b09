"""Who is killed when: a schedule from a seed, and whom to find for each of its kills."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import psutil

LONGEST_PAUSE_S = 6.0
LONGEST_OUTAGE_S = 5.0
_PAIRED = 0.3


class Victim(StrEnum):
    """Whom a SIGKILL meets.

    The driver's Python, or its JVM; the Python workers of a task; an executor, where the master has any; the broker;
    the database with all of its processes; the service.
    """

    DRIVER = "driver"
    JVM = "driver's JVM"
    WORKERS = "Python workers"
    EXECUTOR = "executor"
    BROKER = "broker"
    DATABASE = "database"
    SERVICE = "service"


OUTSIDE = frozenset({Victim.BROKER, Victim.DATABASE, Victim.SERVICE})
"""What is started again by its operator, and not by the service."""
_OF_THE_JOB = frozenset(Victim) - OUTSIDE


@dataclass(frozen=True, slots=True)
class Strike:
    """After ``pause_s`` of running well the victims are killed at once, and what is outside is back ``outage_s`` later.

    With ``impatient`` somebody asks for a restart in place of waiting for the service's own.
    """

    pause_s: float
    victims: tuple[Victim, ...]
    outage_s: float
    impatient: bool = False


def strikes(seed: int, victims: Sequence[Victim]) -> Iterator[Strike]:
    """Without an end; the first ones meet each victim once."""
    chance = random.Random(seed)
    first = list(victims)
    chance.shuffle(first)
    while True:
        one = first.pop() if first else chance.choice(list(victims))
        both = [one]
        if not first and chance.random() < _PAIRED:
            # The service starts a job again; two kills within the job would be one.
            others = [v for v in victims if v is not one and not {v, one} <= _OF_THE_JOB]
            both += chance.sample(others, min(1, len(others)))
        outage = chance.uniform(0.0, LONGEST_OUTAGE_S)
        yield Strike(chance.uniform(0.0, LONGEST_PAUSE_S), tuple(both), outage, chance.random() < 0.3)


def processes_of(job: int, victim: Victim) -> list[psutil.Process]:
    """Those of a job, by the pid of its driver; none where there is none just now."""
    with suppress(psutil.NoSuchProcess):
        driver = psutil.Process(job)
        if victim is Victim.DRIVER:
            return [driver]
        below = driver.children(recursive=True)
        return [one for one in below if _is(one, driver, victim)]
    return []


def _is(process: psutil.Process, driver: psutil.Process, victim: Victim) -> bool:
    with suppress(psutil.Error):
        words, parent = process.cmdline(), process.parent()
        if parent is None:
            return False
        match victim:
            case Victim.JVM:
                return parent == driver and "java" in words[0]
            case Victim.EXECUTOR:
                return any(word.endswith("CoarseGrainedExecutorBackend") for word in words)
            case Victim.WORKERS:
                return "pyspark.daemon" in words and "pyspark.daemon" in parent.cmdline()
    return False
