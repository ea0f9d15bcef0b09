"""A lane: one source partition copied to one target partition of a link."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from anabranch.errors import InvalidFieldError
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class LaneKey:
    """What a lane is, for good: link id, source topic id, partition, and a generation.

    The generation is 0 and is raised when the lane must begin a new history on the target, because its target
    topic was deleted and made again or the source lost records that were copied.  Written
    ``link/topic-id/partition/generation``.
    """

    link: str
    topic_id: TopicId
    partition: int
    generation: int = 0

    def __str__(self) -> str:
        return f"{self.link}/{self.topic_id}/{self.partition}/{self.generation}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text that ``str`` writes; raises ``InvalidFieldError``."""
        parts = text.split("/")
        if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
            raise InvalidFieldError("lane", "key", f"{text!r} is not link/topic-id/partition/generation")
        return cls(parts[0], TopicId.parse(parts[1]), int(parts[2]), int(parts[3]))


class LaneMode(StrEnum):
    """``identity``: target offset = source offset; ``mapped``: the offset map says which is which."""

    IDENTITY = "identity"
    MAPPED = "mapped"


KNOWN_S = 10.0
"""Seconds for which the ends that a source told, and what a worker persisted, are taken for what holds now."""


class LaneState(StrEnum):
    """Where a lane stands.

    ``waiting`` for an owner, or for the end of an open transaction; ``copying`` what the source already had;
    ``following`` its end: all that it has was read, and what is not copied yet is on its way; ``unreachable``: the
    source has not answered for ``KNOWN_S`` seconds; ``paused`` by the link's wanted state; ``stopped`` at something
    that it does not support or may not pass, until a person acts.
    """

    WAITING = "waiting"
    COPYING = "copying"
    FOLLOWING = "following"
    UNREACHABLE = "unreachable"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LaneAssignment:
    """What the planner hands to a task: one lane, and all that it needs to begin.

    ``skip`` are source offsets ``[from, to)`` that a person has accepted as lost.
    """

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    target_id: TopicId
    start: LaneStart
    mode: ModePolicy
    skip: tuple[int, int] | None = None

    def onward(self, position: int) -> int:
        """Where to read on from a position: after the accepted loss where it lies in it, else right there."""
        if self.skip is not None and self.skip[0] <= position < self.skip[1]:
            return self.skip[1]
        return position

    @property
    def begun_at(self) -> int:
        """The source offset at which a person had a later generation begin; -1 for the first one."""
        decided = self.lane.generation > 0 and self.start.kind is StartKind.OFFSETS
        return self.start.value if decided and self.start.value is not None else -1

    @property
    def source_id(self) -> TopicId:
        """The source topic's id, which is part of the lane's key."""
        return self.lane.topic_id


@dataclass(frozen=True, slots=True)
class LaneProgress:
    """Where a lane stands, as its owner last persisted it; offsets are of the source unless named otherwise.

    ``position`` is the next source offset to copy; ``log_start``, ``stable`` (LSO) and ``high_watermark`` are
    the source's; ``target_end`` is the next target offset.  ``records`` and ``bytes`` count what was ever
    copied in this lane, rates are a second.  ``lag_seconds`` is the age of the oldest record not yet copied,
    None if unknown; ``lag_bytes`` is an estimate from the mean size of what was copied, None where the source's end
    is not known, or is and nothing was copied yet.  A stopped lane has
    ``stop_reason`` and the offset at which it stands, ``stop_offset``; a waiting one may have a ``stop_reason``:
    what it last failed at, or who holds it.  ``source_epoch`` is a position up to which the lane was copied, with
    the source's leader epoch of the record before it: the source is asked later whether it still has that one.
    ``source_seen_ms`` is when the source last told its ends, None if it never did.
    ``target_epoch`` is a target offset below which the persisted runs tell of all that the lane wrote, with the
    target's leader epoch in which that was so: where records were deleted, it is asked whether they were truncated
    before.  ``latency_ms`` is how old, by its own timestamp, the newest record of a batch was as the target took it:
    the longest of the last second in which batches were; None where nothing was copied lately.

    ``is_old`` is never persisted.  It is set by who reads progress that nobody has confirmed for ``KNOWN_S`` seconds.
    """

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    state: LaneState
    mode: LaneMode
    mode_reason: str
    position: int
    log_start: int
    stable: int
    high_watermark: int
    target_end: int
    records: int
    bytes: int
    records_per_s: float
    bytes_per_s: float
    lag_bytes: int | None
    lag_seconds: float | None
    owner: str
    updated_at_ms: int
    stop_reason: str | None = None
    stop_offset: int | None = None
    source_epoch: tuple[int, int] | None = None
    source_seen_ms: int | None = None
    target_epoch: tuple[int, int] | None = None
    latency_ms: int | None = None
    is_old: bool = False

    @property
    def knows_source(self) -> bool:
        """Whether the source's ends are those of now, and not of a time before it or the worker fell silent."""
        seen = self.source_seen_ms
        return not self.is_old and seen is not None and self.updated_at_ms - seen <= KNOWN_S * 1000

    @property
    def lag_records(self) -> int | None:
        """Source offsets between the position and the last stable offset: what may be copied by now.

        None where the source's end is not known.
        """
        return max(0, self.stable - self.position) if self.knows_source else None


def run_of(owner: str) -> str:
    """The run of the link that a lane's owner is a worker of."""
    return owner.partition("/")[0]
