"""Translated positions as they are told: one flat answer for each partition and offset that was asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from anabranch.model.lane import LaneKey, LaneMode, LaneState
from anabranch.model.topics import TopicPartition


class AnswerKind(StrEnum):
    """``exact`` is an answer, and ``approximate`` one of MirrorMaker 2; all others are refusals, with their reasons.

    ``before`` anything that was copied; ``after`` all that was copied by now; ``unmapped``: a record that has no
    counterpart; ``unknown``: no lane copies the partition, or its map is in doubt.
    """

    EXACT = "exact"
    APPROXIMATE = "approximate"
    BEFORE = "before"
    AFTER = "after"
    UNMAPPED = "unmapped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OffsetPair:
    """An offset of the asked side, and what stands for it on the other."""

    asked: int
    answer: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of one offset.

    ``to`` is the partition on the other side, None where no lane leads there; ``answer`` the offset there, None unless
    the kind is exact or approximate.  ``why`` is the reason of a refusal, and of an exact answer for an offset that
    holds no copied record itself.  ``below`` and ``above`` are the nearest offsets with an answer, where a refusal has
    them.  ``most_again`` is of an approximate answer: a reader that goes on there skips no record, and sees at most so
    many offsets again; None where nothing tells.
    """

    partition: TopicPartition
    offset: int
    kind: AnswerKind
    to: TopicPartition | None = None
    answer: int | None = None
    why: str = ""
    below: OffsetPair | None = None
    above: OffsetPair | None = None
    most_again: int | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """Answers in the order of the questions; ``cluster`` is the context of the side that is told.

    ``link`` is the link that knows, or MirrorMaker 2's flow as ``SOURCE->TARGET``.
    """

    link: str
    cluster: str
    answers: tuple[Answered, ...]

    @property
    def refused(self) -> int:
        """How many are not exact."""
        return sum(answer.kind is not AnswerKind.EXACT for answer in self.answers)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The exact answers by partition."""
        return {
            answer.to: answer.answer
            for answer in self.answers
            if answer.to is not None and answer.answer is not None and answer.kind is AnswerKind.EXACT
        }


@dataclass(frozen=True, slots=True)
class StoredRange:
    """``length`` records in a row on both sides."""

    source: int
    target: int
    length: int


@dataclass(frozen=True, slots=True)
class LaneRanges:
    """One lane's map: where it begins and up to where it accounts for everything, on both sides, and its ranges."""

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    mode: LaneMode
    state: LaneState
    updated_at_ms: int
    source_start: int
    target_start: int
    source_end: int
    target_end: int
    records: int
    ranges: tuple[StoredRange, ...]
