"""Advice as values: the ways to move one job, in the order in which they are worth taking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from anabranch.checkpoints.job import CheckpointFormat
from anabranch.model.topics import TopicPartition


class WayKind(StrEnum):
    """The ways, those that ask least of a person first: this order decides where nothing else does."""

    IDENTITY = "identity lanes"
    REWRITE = "rewritten checkpoint"
    NAMED_SOURCES = "named sources"
    NEW_UID = "new source uid"
    DROP_SOURCE = "dropped source"
    DYNAMIC = "dynamic source"
    PRODUCERS_FIRST = "producers first"
    RENAMED_TOPIC = "renamed topic"
    START_AGAIN = "new checkpoint"


class ConditionStatus(StrEnum):
    """Whether a condition holds. ``not yet``: it will, by waiting or by a step that is named."""

    MET = "met"
    LATER = "not yet"
    UNKNOWN = "unknown"
    UNMET = "not met"


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be so for a way to be right; ``why`` is what was seen, with numbers, and ``fix`` what changes it."""

    what: str
    status: ConditionStatus
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a way would read again, or never, if its conditions hold; in records, None where that cannot be determined.

    Offsets without a record (markers, aborted or compacted records) count as records where a difference of two
    offsets is all that is known: the numbers are never too low.
    """

    repeated: int | None
    lost: int | None
    why: str = ""

    @property
    def exact(self) -> bool:
        """Whether nothing is repeated and nothing lost."""
        return self.repeated == 0 and self.lost == 0


@dataclass(frozen=True, slots=True)
class AdviceStep:
    """One thing to do; ``command`` is to be typed as it is, "" where it is done elsewhere."""

    what: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to move the job. ``waits_s`` is the least downtime or delay of the job; None: unknown."""

    kind: WayKind
    title: str
    conditions: tuple[Condition, ...]
    effect: Effect
    steps: tuple[AdviceStep, ...]
    waits_s: float | None = None
    waits_why: str = ""
    notes: tuple[str, ...] = ()

    def count(self, *statuses: ConditionStatus) -> int:
        """How many conditions have one of these statuses."""
        return sum(one.status in statuses for one in self.conditions)

    @property
    def possible(self) -> bool:
        """Whether no condition fails, as far as is known."""
        return not self.count(ConditionStatus.UNMET)


@dataclass(frozen=True, slots=True)
class Advice:
    """Every way, the best first; those with a failed condition last, each with its reason.

    ``unmodified_restart`` is what happens if only the servers are changed; ``seen`` what the advice rests on, in
    sentences.
    """

    path: str
    format: CheckpointFormat
    engine: str
    job: str
    seen: tuple[str, ...]
    unmodified_restart: Effect
    ways: tuple[Way, ...]

    @property
    def best(self) -> Way | None:
        """The way to take; None where each has a condition that fails."""
        return self.ways[0] if self.ways and self.ways[0].possible else None


@dataclass(frozen=True, slots=True)
class ResumeOffsets:
    """The exact offsets at which a job resumes on the target.

    ``unread`` are partitions there that were not read yet and for which no offset is given: where they begin is the
    program's choice.
    """

    offsets: Mapping[TopicPartition, int]
    unread: tuple[TopicPartition, ...] = ()
