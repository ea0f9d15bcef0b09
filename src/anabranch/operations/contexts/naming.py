"""Names that a shell offers: what a cluster has, asked with a short time and without waiting for anything to settle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.listing import listing
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, present

T = TypeVar("T")
LOOK_S = 2.0


def links(target: ClusterContext) -> list[str]:
    """The ids of the links that a target stores."""

    async def ask(cluster: Cluster) -> list[str]:
        return sorted((await _links(cluster)).links)

    return _within(target, ask)


def source_of(target: ClusterContext, link: str) -> str:
    """The context that a link copies from."""

    async def ask(cluster: Cluster) -> str:
        return (await _links(cluster)).links[link].wanted.spec.source.context

    return _within(target, ask)


def partitions(target: ClusterContext, link: str) -> list[str]:
    """The source topics of a link, and their partitions as ``orders-3``."""

    async def ask(cluster: Cluster) -> list[str]:
        filled = {topic.source: topic.target for topic in (await _links(cluster)).topics_of(link)}
        answer = await cluster.metadata(sorted(filled.values())) if filled else None
        found = sorted(filled)
        for source, name in sorted(filled.items()):
            found += [f"{source}-{index}" for index in sorted(answer.topics[name].partitions)] if answer else []
        return found

    return _within(target, ask)


def topics(context: ClusterContext) -> list[str]:
    """The topics of a cluster, but for its own and ours."""

    async def ask(cluster: Cluster) -> list[str]:
        found = (await cluster.metadata(None)).topics.values()
        return sorted(topic.name for topic in found if not topic.internal and not topic.name.startswith("__"))

    return _within(context, ask)


def groups(context: ClusterContext) -> list[str]:
    """The groups of a cluster."""

    async def ask(cluster: Cluster) -> list[str]:
        return sorted(one.name for one in await listing(cluster))

    return _within(context, ask)


async def _links(cluster: Cluster) -> Links:
    links = Links(cluster)
    if await present(cluster, [control_topics.LINKS]):
        await links.sync()
    return links


def _within(context: ClusterContext, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    async def run() -> T:
        async with asyncio.timeout(LOOK_S), open_cluster(context) as cluster:
            return await ask(cluster)

    return asyncio.run(run())
