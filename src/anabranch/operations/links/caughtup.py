"""What a link has to have copied to be caught up: read from the source itself, whether the link runs or not."""

from __future__ import annotations

import asyncio

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.same_cluster import check_cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.caughtup import Goal, SourceLog
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.filters import load, select
from anabranch.model.link import UnknownLinkError
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.standing import has_control_topics
from anabranch.state.topics.control import Links


def goal(source: ClusterContext, target: ClusterContext, link_id: str) -> Goal:
    """The source's logs as they are now; raises UnknownLinkError, ClusterError where either cluster is not reached."""

    async def ask() -> Goal:
        async with open_cluster(source) as here, open_cluster(target) as there:
            return await _goal(here, there, link_id)

    return asyncio.run(ask())


async def _goal(source: Cluster, target: Cluster, link_id: str) -> Goal:
    links = Links(target)
    if await has_control_topics(target):
        await links.sync()
    record = links.links.get(link_id)
    if record is None:
        raise UnknownLinkError(link_id, target.name)
    read_at = now_ms()
    answer = await source.metadata(None)
    check_cluster(source.name, record.wanted.spec.source.cluster_id, answer)
    there = {topic.name: topic for topic in answer.topics.values() if not topic.internal}
    topics = [there[name] for name in select(load(record.wanted.spec.filter), list(there))]
    for topic in topics:
        source.check(topic.error, "Describe", f"topic {topic.name}")
    found = await ends(source, [TopicPartition(t.name, index) for t in topics for index in t.partitions], stable=True)
    ids = {topic.name: TopicId(topic.id) for topic in topics}
    logs = {at: SourceLog(ids[at.topic], start, end) for at, (start, end) in sorted(found.items())}
    return Goal(link_id, read_at, logs)
