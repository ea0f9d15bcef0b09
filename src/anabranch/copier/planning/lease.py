"""A lease: what one task of a micro-batch is to do, and the figures that come of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.copier.planning import assignments
from anabranch.model.lane import LaneAssignment


@dataclass(frozen=True, slots=True)
class Lease:
    """What a task is to do: copy these lanes of a link for some seconds, as one of ``slots`` tasks.

    ``run`` names the run of the link (one ``link run``); ``batch`` is the micro-batch: the lease ends early when
    the run's plan has a later one.  Spark gives a slot's task to any worker.  ``homes`` names, by their owner, the
    workers whose lanes this plan leaves together, with the ``fingerprint`` of these lanes: such a worker goes on
    with them whichever task it is given.
    """

    link: str
    run: str
    batch: int
    slot: int
    slots: int
    seconds: float
    lanes: tuple[LaneAssignment, ...]
    homes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeaseFigures:
    """What a worker did since the last figures; ``over`` says why the lease ended, empty while it runs."""

    owner: str
    lanes: int
    running: int
    stopped: int
    records: int
    bytes: int
    over: str = ""


def fingerprint(lanes: Iterable[LaneAssignment]) -> str:
    """A text that is equal for equal sets of assignments, and for no others."""
    texts = sorted(assignments.encode(lane) for lane in lanes)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def digest(lanes: Iterable[LaneAssignment]) -> str:
    """A text that is equal for equal sets of lanes with equal modes.

    What else is assigned does not count: a start changes its words once a lane has begun, and what a person decided
    ends a lease by itself.
    """
    texts = sorted(f"{one.lane} {one.mode.value}" for one in lanes)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
