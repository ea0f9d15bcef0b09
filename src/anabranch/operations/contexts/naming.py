"""Names that a shell offers: what a cluster has, asked without waiting for anything to settle."""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.listing import listing
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, present


async def links(target: Cluster) -> list[str]:
    """The ids of the links that a target stores."""
    return sorted((await _links(target)).links)


async def source_of(target: Cluster, link: str) -> str:
    """The context that a link copies from; raises KeyError for an unknown one."""
    return (await _links(target)).links[link].wanted.spec.source.context


async def partitions(target: Cluster, link: str) -> list[str]:
    """The source topics of a link, and their partitions as ``orders-3``."""
    filled = {topic.source: topic.target for topic in (await _links(target)).topics_of(link)}
    answer = await target.metadata(sorted(filled.values())) if filled else None
    found = sorted(filled)
    for source, name in sorted(filled.items()):
        found += [f"{source}-{index}" for index in sorted(answer.topics[name].partitions)] if answer else []
    return found


async def topics(cluster: Cluster) -> list[str]:
    """The topics of a cluster, but for its own and ours."""
    found = (await cluster.metadata(None)).topics.values()
    return sorted(topic.name for topic in found if not topic.internal and not topic.name.startswith("__"))


async def groups(cluster: Cluster) -> list[str]:
    """The groups of a cluster."""
    return sorted(one.name for one in await listing(cluster))


async def _links(cluster: Cluster) -> Links:
    links = Links(cluster)
    if await present(cluster, [control_topics.LINKS]):
        await links.sync()
    return links
