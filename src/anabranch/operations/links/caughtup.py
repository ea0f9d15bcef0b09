"""What a link has to have copied to be caught up: read from the source itself, whether the link runs or not."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.same_cluster import check_cluster
from anabranch.model.caughtup import Goal, SourceLog
from anabranch.model.clock import now_ms
from anabranch.model.filters import load, select
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.links.status import stored


async def goal(source: Cluster, target: Cluster, link_id: str) -> Goal:
    """The source's logs as they are now; raises UnknownLinkError, ClusterError where either cluster is not reached."""
    _, record = await stored(target, link_id)
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
