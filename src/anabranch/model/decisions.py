"""What a person decided where a link may not go on by itself, and the plan that is shown before it is stored.

A lane stops where going on would lose or mix records without anybody's word.  The word is a
:class:`LaneDecision`; it names offsets, so that it covers what was seen and nothing that is lost later.

    source expired       the lane stays; the offsets of ``skip`` are given up
    source truncated     the lane's next generation begins at the end that the source kept; the runs of the one
                         before stay persisted and tell of the records that only the target has
    source made again    the new topic has another id, so its lanes are others; each begins at the new log's start
    target made again    the lane's next generation begins where the lane once began, in the new topic
    position in doubt    the lane's next generation begins where the copy surely ends, with the offset map up to there
    cannot be copied     the lane stays; the offsets of ``skip`` are given up
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from anabranch.errors import InvalidFieldError
from anabranch.model.lane import LaneKey
from anabranch.model.link import MirroredTopic
from anabranch.model.plans import REQUEST
from anabranch.model.start import LaneStart, StartKind
from anabranch.model.topics import TopicId, TopicPartition


class SourcePartition(NamedTuple):
    """What a decision is about, whatever the lane's generation: a partition of a source topic."""

    topic_id: TopicId
    partition: int


@dataclass(frozen=True, slots=True)
class LaneDecision:
    """What was decided about one lane, all that holds of it now: a later decision repeats what stays.

    ``generation`` is the lane's, 0 the first; ``start`` the source offset at which that generation begins, None
    where the link's own start holds.  ``skip`` are source offsets ``[from, to)`` that are accepted as lost: a
    lane whose position lies among them goes on at ``to``, any other does not look at it.
    Raises ``InvalidFieldError`` where it decides nothing, or a generation that was raised begins nowhere.
    """

    link: str
    place: SourcePartition
    generation: int
    start: int | None
    skip: tuple[int, int] | None
    decided_at_ms: int
    why: str

    def __post_init__(self) -> None:
        where = f"decision about {self.link}/{self.place.topic_id}/{self.place.partition}"
        if self.place.partition < 0 or self.generation < 0:
            raise InvalidFieldError(where, "generation", "a partition or a generation below 0")
        if self.start is not None and self.start < 0:
            raise InvalidFieldError(where, "start", f"{self.start:,} is negative")
        if self.generation and self.start is None:
            raise InvalidFieldError(where, "start", f"generation {self.generation} begins nowhere")
        if self.skip is not None and not 0 <= self.skip[0] < self.skip[1]:
            raise InvalidFieldError(where, "skip", f"{self.skip[0]:,} to {self.skip[1]:,} is no range of offsets")
        if self.start is None and self.skip is None:
            raise InvalidFieldError(where, "skip", "it decides nothing")
        if not self.why:
            raise InvalidFieldError(where, "why", "it says no reason")

    @property
    def lane(self) -> LaneKey:
        """The lane that goes on."""
        return LaneKey(self.link, self.place.topic_id, self.place.partition, self.generation)

    def start_or(self, links: LaneStart) -> LaneStart:
        """Where the lane begins, given where the link would have it begin."""
        return links if self.start is None else LaneStart(StartKind.OFFSETS, self.start)


class Cause(StrEnum):
    """What a person has to decide about."""

    SOURCE_EXPIRED = "the source no longer has records that were not copied"
    SOURCE_TRUNCATED = "the source lost records that were copied"
    SOURCE_MADE_AGAIN = "the source topic was deleted and made again"
    TARGET_MADE_AGAIN = "the target topic was deleted and made again"
    TARGET_DELETED = "the target topic was deleted"
    POSITION_LOST = "it is no longer known exactly how far the lane was copied"
    CLAIMS_LOST = "the lane was copied, and who wrote it is forgotten"
    DIVERGED = "the lane's batches in the target log do not follow each other"
    GAP_RECORDS_LOST = "what the lane's batches past gaps are copies of is forgotten"
    GIVEN_UP = "the lane stopped at records that cannot be copied"


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """One lane about which something waits to be decided, and what accepting it means.

    ``position`` is the source offset up to which the old lane has copied.  ``given_up`` are source offsets that
    will never be copied; ``twice`` source offsets that the target then holds in two versions, the lost one first.
    ``means`` says all of it in sentences.  ``keeps`` is the generation whose offset map the new one goes on with.
    """

    cause: Cause
    source: TopicPartition
    target: TopicPartition
    lane: LaneKey
    position: int
    given_up: tuple[int, int] | None
    twice: tuple[int, int] | None
    decision: LaneDecision
    means: str
    keeps: LaneKey | None = None


@dataclass(frozen=True, slots=True)
class AcceptPlan:
    """Everything that waits for a decision in a link, or in a part of it.

    ``remember`` are topics whose source is another one now, ``forget`` those whose target is no more.
    ``remake`` are control topics that are missing and are made again, empty; ``recreated`` those that somebody has made
    again, which the link goes on with.  ``where`` and ``at`` are what was asked: which part, and where a lane goes on.
    """

    link: str
    pending: tuple[PendingDecision, ...]
    remember: tuple[MirroredTopic, ...]
    forget: tuple[MirroredTopic, ...]
    hash: str
    remake: tuple[str, ...] = ()
    recreated: tuple[str, ...] = ()
    where: str | None = field(default=None, metadata=REQUEST)
    at: int | None = field(default=None, metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class AcceptReport:
    """What was accepted."""

    plan: AcceptPlan


def skipping(before: LaneDecision | None, lane: LaneKey, skip: tuple[int, int], now_ms: int, why: str) -> LaneDecision:
    """The same generation of a lane, with offsets given up; what was decided before of its start stays."""
    if before is None or before.generation != lane.generation:
        place = SourcePartition(lane.topic_id, lane.partition)
        if lane.generation:
            raise InvalidFieldError(f"lane {lane}", "generation", "nobody has decided that it exists")
        return LaneDecision(lane.link, place, 0, None, skip, now_ms, why)
    return replace(before, skip=skip, decided_at_ms=now_ms, why=why)


def beginning(lane: LaneKey, start: int, now_ms: int, why: str) -> LaneDecision:
    """A lane that begins at a source offset, with a history of its own."""
    place = SourcePartition(lane.topic_id, lane.partition)
    return LaneDecision(lane.link, place, lane.generation, start, None, now_ms, why)
