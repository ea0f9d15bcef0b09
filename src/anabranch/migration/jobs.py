"""From where to where the stored positions of a stream job are moved on each leg of its wave.  Pure.

A Spark query keeps its directory: the first leg leads to ``moved`` where that is named, and what follows is rewritten
in its place.  A Flink job has a snapshot of its own at each stop: ``checkpoint`` is that of the job on the source,
``moved`` that of the job on the target, and each leg leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.migration.legs import Leg
from anabranch.migration.spec import JobKind, StreamJob


@dataclass(frozen=True, slots=True)
class JobMove:
    """One leg of a job: the positions at ``at`` are rewritten to ``to``, which is empty for in their place.

    ``field`` is what the migration calls ``at``, ``to_field`` what it calls ``to``.
    """

    job: StreamJob
    at: str
    to: str
    field: str
    to_field: str

    @property
    def place(self) -> str:
        """Where the job goes on."""
        return self.to or self.at


def job_move(leg: Leg, job: StreamJob) -> JobMove:
    """What a leg does with a job of its wave."""
    if job.kind is JobKind.FLINK and leg.leads_back:
        return JobMove(job, job.moved, job.checkpoint, "moved", "checkpoint")
    if job.kind is JobKind.FLINK or (job.moved and not leg.number):
        return JobMove(job, job.checkpoint, job.moved, "checkpoint", "moved")
    return JobMove(job, job.moved or job.checkpoint, "", "moved" if job.moved else "checkpoint", "")
