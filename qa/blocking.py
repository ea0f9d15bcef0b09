"""How code that is not asynchronous asks clusters: each question opens them, in an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext

T = TypeVar("T")


def on(context: ClusterContext, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    """What comes of asking a cluster."""

    async def run() -> T:
        async with open_cluster(context) as cluster:
            return await ask(cluster)

    return asyncio.run(run())


def between(source: ClusterContext, target: ClusterContext, ask: Callable[[Cluster, Cluster], Awaitable[T]]) -> T:
    """What comes of asking two clusters."""

    async def run() -> T:
        async with open_cluster(source) as here, open_cluster(target) as there:
            return await ask(here, there)

    return asyncio.run(run())
