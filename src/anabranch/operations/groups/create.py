"""Create a group: its first commits for some topics of one cluster, at any start position."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.create import create as build_plan
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.start import look_up
from anabranch.model.clock import now_ms
from anabranch.model.groups import GroupState
from anabranch.model.plans import check_holds
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups.commits import move, new_id, read_groups
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class NoSuchTopicError(RefusedError):
    """A topic in which a group is to begin does not exist, or we may not see it."""

    cluster: str
    topic: str

    _message = "cluster {cluster} has no topic {topic!r} that we may see"
    _hint = "a group begins in topics that are there: copy it first, or see the names by `kafka-topics --list`"


@dataclass(eq=False)
class GroupNotMadeError(RefusedError):
    """A group was not created: something refuses it, or the cluster refused a part, and the rest was undone."""

    cluster: str
    group: str
    reason: str
    fix: str = ""

    _message = "group {group!r} was not begun on cluster {cluster}: {reason}"
    _hint = "{fix}"


async def plan(cluster: Cluster, group: str, topics: Sequence[str], start: StartPosition) -> CreatePlan:
    """Where a group would begin in some topics of a cluster, and every refusal.

    Raises NoSuchTopicError, and what ``anabranch.kafka.start.look_up`` raises.
    """
    return (await _plan(cluster, group, topics, start))[0]


async def apply(cluster: Cluster, planned: CreatePlan) -> GroupCreated:
    """Begin the group.

    Raises PlanChangedError if the plan has changed, and GroupNotMadeError if something refuses it, or if the
    cluster refused a part of it, after which nothing of it is left.
    """
    now, existed = await _plan(cluster, planned.group, planned.topics, planned.asked)
    again = shlex.join(["anabranch", "groups", "create", planned.group, *(f"--topic={one}" for one in planned.topics)])
    check_holds(f"group {planned.group!r}", planned, now, again)
    if not now.ok:
        first = now.refusals[0]
        raise GroupNotMadeError(cluster.name, now.group, first.what, first.fix)
    at = now_ms()
    nothing = dict.fromkeys(now.begins)
    record = UndoRecord(new_id(at), now.group, existed, nothing, now.begins, at, "groups create")
    failed = await move(cluster, Positions(cluster), [record])
    if failed:
        raise GroupNotMadeError(cluster.name, now.group, failed[now.group])
    return GroupCreated(cluster.name, now.group, now.start, now.begins, record.id, now.notes)


async def _plan(cluster: Cluster, group: str, topics: Sequence[str], start: StartPosition) -> tuple[CreatePlan, bool]:
    """The plan, and whether the group exists."""
    partitions = await _partitions(cluster, topics)
    found = await look_up(cluster, start, partitions)
    now = (await read_groups(cluster, [group]))[group]
    existed = now.state is not GroupState.DEAD
    notes = (*found.notes, *_unused(start, topics, partitions))
    plan = build_plan(cluster.name, group, topics, start, found.offsets, now if existed else None, notes)
    return plan, existed


def _unused(start: StartPosition, topics: Sequence[str], partitions: Sequence[TopicPartition]) -> Iterator[str]:
    for partition in sorted(set(start.offsets).difference(partitions)):
        why = "there is no such partition" if partition.topic in topics else f"--topic does not name {partition.topic}"
        yield f"the offset for {partition} is not used: {why}"


async def _partitions(cluster: Cluster, topics: Sequence[str]) -> list[TopicPartition]:
    answer = await cluster.metadata(sorted(set(topics)))
    found = []
    for topic in answer.topics.values():
        if topic.error == UNKNOWN_TOPIC:
            raise NoSuchTopicError(cluster.name, topic.name)
        cluster.check(topic.error, "Describe", f"topic {topic.name}")
        found += [TopicPartition(topic.name, index) for index in sorted(topic.partitions)]
    return found
