"""Whether a link has copied what its source held at one moment: the goal, and what is left of it.

Invariant
    a goal is reached only where each partition that the link copies, and that held something, has a lane of the very
    topic (by its id) whose filed position is at the goal's end or after it.  What the workers know of the source's end
    has no say in that, so that an old end cannot look like the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class SourceLog:
    """A source partition as it was: its topic's id, its first offset and its last stable one."""

    topic_id: TopicId
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Goal:
    """The logs of all topics that a link's filter takes, read from the source at ``read_at_ms``.

    ``filled`` are the topics that the link is known to copy: of others only a later plan tells whether it does.
    """

    link: str
    read_at_ms: int
    logs: Mapping[TopicPartition, SourceLog]
    filled: frozenset[str]


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a goal: records behind by partition, partitions that no lane has begun, lanes that stopped."""

    behind: Mapping[TopicPartition, int]
    not_begun: tuple[TopicPartition, ...]
    stopped: tuple[LaneProgress, ...]
    missing: int

    @property
    def records(self) -> int:
        """Source offsets still to be copied."""
        return sum(self.behind.values())

    def within(self, lag: int) -> bool:
        """Whether no lane is further behind than ``lag`` records, and none has stopped or not begun."""
        return not (self.not_begun or self.stopped or self.missing or any(one > lag for one in self.behind.values()))


def left(goal: Goal, status: LinkStatus) -> Left:
    """What is left of a goal as the link stands."""
    lanes = {(lane.source, lane.lane.topic_id): lane for lane in status.lanes}
    is_planned = status.plan is not None and status.plan.planned_at_ms > goal.read_at_ms
    behind: dict[TopicPartition, int] = {}
    not_begun: list[TopicPartition] = []
    for partition, log in goal.logs.items():
        if log.start >= log.end:
            continue
        lane = lanes.get((partition, log.topic_id))
        if lane is not None:
            behind[partition] = max(0, log.end - lane.position)
        elif partition.topic in goal.filled or not is_planned:
            not_begun.append(partition)
            behind[partition] = log.end - log.start
    planned = status.plan.lanes if status.plan is not None else 0
    return Left(
        behind,
        tuple(sorted(not_begun)),
        tuple(lane for lane in status.lanes if lane.state is LaneState.STOPPED and _is_of(goal, lane)),
        max(0, planned - len(status.lanes)),
    )


def _is_of(goal: Goal, lane: LaneProgress) -> bool:
    log = goal.logs.get(lane.source)
    return log is not None and log.topic_id == lane.lane.topic_id
