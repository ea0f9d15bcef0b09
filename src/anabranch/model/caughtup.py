"""Whether a link has copied what its source held at one moment: the goal, and what is left of it.

Invariant
    a goal is reached only where each partition of it that held something has a lane of the very topic (by its id) whose
    persisted position is at the goal's end or after it, or is of a topic that the link leaves out on purpose.  That is
    told by the filter of now, or by a plan, if it was made from a later look at the source; a topic that is missing
    from it for any other reason is not copied.  What the workers know of the source's end has no say in it: an old end
    cannot look like the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.model.filters import excluded
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.model.topics import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class SourceLog:
    """A source partition as it was: its topic's id, its first offset and its last stable one."""

    topic_id: TopicId
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Goal:
    """The logs of all topics that a link's filter takes, read from the source at ``read_at_ms``."""

    link: str
    read_at_ms: int
    logs: Mapping[TopicPartition, SourceLog]


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is still to be copied: lag by partition, partitions that no lane has begun, lanes that stopped."""

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


def remaining_of(goal: Goal, status: LinkStatus) -> Remaining:
    """What is still to be copied of a goal."""
    lanes = {(lane.source, lane.lane.topic_id): lane for lane in status.lanes}
    left_out = _left_out(goal, status.plan) | excluded(status.spec.filter, {at.topic for at in goal.logs})
    behind: dict[TopicPartition, int] = {}
    not_begun: list[TopicPartition] = []
    for partition, log in goal.logs.items():
        if log.start >= log.end:
            continue
        lane = lanes.get((partition, log.topic_id))
        if lane is not None:
            behind[partition] = max(0, log.end - lane.position)
        elif partition.topic not in left_out:
            not_begun.append(partition)
            behind[partition] = log.end - log.start
    return Remaining(
        behind,
        tuple(sorted(not_begun)),
        # Also of a topic that the source has no more, or has made again: a person must decide about it.
        tuple(lane for lane in status.lanes if lane.state is LaneState.STOPPED),
        status.missing,
    )


def _left_out(goal: Goal, plan: LinkPlan | None) -> frozenset[str]:
    """The topics that the link leaves out as of a plan that has seen all that the goal has; none where none has."""
    if plan is None or plan.ends or plan.looked_at_ms is None or plan.looked_at_ms <= goal.read_at_ms:
        return frozenset()
    return frozenset(plan.left_out)
