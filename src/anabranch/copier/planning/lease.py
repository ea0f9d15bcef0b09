"""A lease: what one task of a micro-batch is to do, and the figures that come of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from anabranch.copier.planning import assignments
from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.lane import LaneAssignment
from anabranch.model.plugins import PluginSpec


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """Digests of what people want of a link's lanes: a plan of another basis is not the one that they want.

    Invariant: who has read the same of a link has the same basis, whatever was read before.
    """

    filter: str
    decisions: str

    @classmethod
    def of(cls, filter_: PluginSpec, decided: Mapping[SourcePartition, LaneDecision]) -> Self:
        """Of a link's filter, and of what was decided about its lanes."""
        options = json.dumps(filter_.options, sort_keys=True, default=repr)
        return cls(_digest([filter_.kind, options]), _digest(sorted(map(repr, decided.values()))))


@dataclass(frozen=True, slots=True)
class Lease:
    """What a task is to do: copy these lanes of a link for some seconds, as one of ``slots`` tasks.

    ``run`` names the run of the link (one ``link run``); ``batch`` is the micro-batch: the lease ends early when
    the run's plan has a later one.  Spark gives a slot's task to any worker.  ``homes`` names, by their owner, the
    workers whose lanes this plan leaves together, with the ``fingerprint`` of these lanes: such a worker goes on
    with them whichever task it is given.  ``basis`` is the plan's, which ends the lease where it is another one by now;
    None for a lease of an old plan, which is short.
    """

    link: str
    run: str
    batch: int
    slot: int
    slots: int
    seconds: float
    lanes: tuple[LaneAssignment, ...]
    homes: Mapping[str, str] = field(default_factory=dict)
    basis: PlanBasis | None = None


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
    return _digest(sorted(assignments.encode(lane) for lane in lanes))


def digest(lanes: Iterable[LaneAssignment]) -> str:
    """A text that is equal for equal sets of lanes with equal modes.

    What else is assigned does not count: a start changes its words once a lane has begun, and what a person decided
    ends a lease by itself.
    """
    return _digest(sorted(f"{one.lane} {one.mode.value}" for one in lanes))[:16]


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
