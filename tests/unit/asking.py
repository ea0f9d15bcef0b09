"""How tests ask a simulated cluster: in an event loop of their own, and what they append to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from anabranch.kafka import produce
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.records.record import Record, TimestampType

T = TypeVar("T")


def on(context: ClusterContext, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    """What comes of asking a cluster."""

    async def run() -> T:
        async with open_cluster(context) as cluster:
            return await ask(cluster)

    return asyncio.run(run())


async def append(connection: Connection, topic: str, topic_id: UUID, batch: bytes, partition: int = 0) -> int:
    """Append a batch; the code."""
    frame = await produce.submit(connection, [produce.Outgoing(topic, topic_id, partition, batch)])
    try:
        return produce.parse(frame, produce.version_for(connection))[0].code
    finally:
        frame.release()


def records(count: int) -> list[Record]:
    """Some records."""
    return [Record(n, 1_000, TimestampType.CREATE_TIME, b"k", b"v") for n in range(count)]
