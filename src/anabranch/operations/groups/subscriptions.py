"""Subscriptions that do not exist yet: a group and some topics of one cluster, at any start position."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anabranch.errors import RefusedError
from anabranch.groups.create import CreatePlan
from anabranch.groups.create import create as planned
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.security import open_cluster
from anabranch.kafka.start import look_up
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import GroupState
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups.groupmoves import move, new_id, stands
from anabranch.operations.groups.groups import GroupNotMadeError
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class NoSuchTopicError(RefusedError):
    """A topic in which a group is to begin is not there, or we may not see it."""

    cluster: str
    topic: str

    @property
    def message(self) -> str:
        return f"cluster {self.cluster} has no topic {self.topic!r} that we may see"

    @property
    def hint(self) -> str:
        return "a group begins in topics that are there: copy it first, or see the names by `kafka-topics --list`"


def create(
    context: ClusterContext, group: str, topics: Sequence[str], start: StartPosition, execute: bool
) -> CreatePlan:
    """Plan to begin a group in some topics of a cluster; with ``execute`` do it where nothing forbids it.

    Raises NoSuchTopicError, GroupNotMadeError where the cluster would not take all of it, after which nothing of it
    is left, and what ``anabranch.kafka.start.look_up`` raises.
    """
    return asyncio.run(_create(context, group, topics, start, execute))


async def _create(
    context: ClusterContext, group: str, topics: Sequence[str], start: StartPosition, execute: bool
) -> CreatePlan:
    async with open_cluster(context) as cluster:
        partitions = await _partitions(cluster, topics)
        found = await look_up(cluster, start, partitions)
        now = (await stands(cluster, [group]))[group]
        plan = planned(cluster.name, group, str(start), found.offsets, None if now.state is GroupState.DEAD else now)
        plan = replace(plan, notes=(*found.notes, *_unused(start, topics, partitions)))
        if not (execute and plan.ok):
            return plan
        at = now_ms()
        nothing = dict.fromkeys(plan.begins)
        existed = now.state is not GroupState.DEAD
        record = UndoRecord(new_id(at), group, existed, nothing, plan.begins, at, "groups create")
        failed = await move(cluster, Positions(cluster), [record])
        if failed:
            raise GroupNotMadeError(cluster.name, group, failed[group])
        return replace(plan, executed=True, undo=record.id)


def _unused(start: StartPosition, topics: Sequence[str], partitions: Sequence[TopicPartition]) -> Iterator[str]:
    for one in sorted(set(start.offsets).difference(partitions)):
        why = "there is no such partition" if one.topic in topics else f"--topic does not name {one.topic}"
        yield f"the offset that is given for {one} is not used: {why}"


async def _partitions(cluster: Cluster, topics: Sequence[str]) -> list[TopicPartition]:
    answer = await cluster.metadata(sorted(set(topics)))
    found = []
    for topic in answer.topics.values():
        if topic.error == UNKNOWN_TOPIC:
            raise NoSuchTopicError(cluster.name, topic.name)
        cluster.check(topic.error, "Describe", f"topic {topic.name}")
        found += [TopicPartition(topic.name, index) for index in sorted(topic.partitions)]
    return found
