"""What a wave may have lost with the cluster that it left, and what of it is found when that comes back.  Pure.

Invariants
    L1  what was not copied is named lane by lane, by offsets of the lost cluster; where an end is not known, that is
        said.
    L2  a lane is ahead, or parted, or neither: only where no lane is either can a way back be exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anabranch.migration.ends import End
from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind
from anabranch.migration.words import moment, named
from anabranch.model.counted import counted

DOUBTS = "doubts"
"""Under which name a step writes down, in sentences, what is not known or may be lost."""


class LostState(StrEnum):
    """What has become of the records that a lost cluster had and the other one has not."""

    GONE = "lost"
    KEPT = "tail kept"
    APPENDED = "tail appended"


@dataclass(frozen=True, slots=True)
class LostCluster:
    """How a wave stands that was led away from a lost cluster; ``doubts`` are what is not known, in sentences."""

    end: End
    state: LostState
    doubts: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In a few words."""
        match self.state:
            case LostState.GONE:
                return f"{self.end.value} lost"
            case LostState.KEPT:
                return f"tail kept on the {self.end.value}"
            case LostState.APPENDED:
                return "tail appended"


@dataclass(frozen=True, slots=True)
class LostLane:
    """A lane as its source cluster was lost: ``copied`` is up to where, ``there`` the end of its copies on the other.

    ``end`` is where the lost log ended when that was last seen, at ``seen_ms``; None where it never was.
    """

    partition: str
    copied: int
    there: int
    end: int | None = None
    seen_ms: int | None = None

    @property
    def tail(self) -> int:
        """How many offsets were seen that are not copied: the least that is lost."""
        return 0 if self.end is None else max(0, self.end - self.copied)


@dataclass(frozen=True, slots=True)
class FoundLane:
    """A lane as its source cluster is back: its log ends at ``end``, and was copied up to ``copied``.

    ``records`` are those in between, None where they were not counted; ``foreign`` is whether the target has records
    of others between the copies of before and what was copied since.
    """

    partition: str
    copied: int
    end: int
    records: int | None = None
    foreign: bool = False

    @property
    def tail(self) -> int:
        """How many offsets of it are not copied; none where they hold markers alone, which no copy has."""
        return 0 if self.records == 0 else max(0, self.end - self.copied)


def lost_words(lanes: Iterable[LostLane], source: str) -> Iterator[str]:
    """What is possibly lost, in sentences: one for each lane of which more was seen than was copied (L1)."""
    complete: list[LostLane] = []
    for lane in sorted(lanes, key=lambda one: one.partition):
        if lane.end is None or lane.seen_ms is None:
            yield f"{lane.partition} was copied up to {lane.copied:,}; where its log ended on {source} was never seen"
        elif lane.tail:
            yield (
                f"offsets {lane.copied:,} to {lane.end - 1:,} of {lane.partition} are possibly lost; what was written "
                f"after {moment(lane.seen_ms)} is not known"
            )
        else:
            complete.append(lane)
    if complete:
        since = min(lane.seen_ms for lane in complete if lane.seen_ms is not None)
        names = named([lane.partition for lane in complete], "partition")
        yield f"{names}: all was copied that was seen; what was written after {moment(since)} is not known"


def never_ran(link: str, lost: str, there: str) -> str:
    """That a way back has copied nothing, in a sentence; its lanes say up to where it goes."""
    return (
        f"link {link} has never run: nothing that applications wrote to {lost} since they were led there is on {there}"
    )


def found_words(lanes: Iterable[FoundLane], source: str, target: str) -> Iterator[str]:
    """What the source has that was not copied, in sentences, lane by lane."""
    for lane in lanes:
        if lane.tail:
            yield f"{tail_words(lane)} of {lane.partition} are on {source}, and not on {target}"


def tail_words(lane: FoundLane) -> str:
    """``12 records (offsets 100 to 111)``."""
    offsets = f"offsets {lane.copied:,} to {lane.end - 1:,}"
    return offsets if lane.records is None else f"{counted(lane.records, 'record')} ({offsets})"


def loses_tail(run: WaveRun) -> bool:
    """Whether a run goes on without the cluster that is left, and without what producers wrote there last."""
    return any(step.kind is StepKind.LOST_TAIL for step in run.steps)


def doubts_of(results: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """What the steps of a run have written down that is not known."""
    return tuple(doubt for result in results.values() for doubt in result.get(DOUBTS, ()))


def lane_fields(lanes: Sequence[LostLane]) -> list[list[Any]]:
    """Lanes as JSON values."""
    return [[lane.partition, lane.copied, lane.there, lane.end, lane.seen_ms] for lane in lanes]


def lanes_of(fields: Iterable[Sequence[Any]]) -> tuple[LostLane, ...]:
    """The lanes that ``lane_fields`` has written."""
    return tuple(LostLane(*one) for one in fields)
