"""A source of batches of an exact number of records, which no producer's settings give: encoded and sent here."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from anabranch.kafka import produce
from anabranch.kafka.connection import Connection
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import LATEST, list_offsets
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.records.encode import encode
from anabranch.records.header import Codec
from anabranch.records.record import Record, TimestampType
from anabranch.sandbox import SandboxCluster
from benchmarks.sources import values

_IN_FLIGHT = 8
_POOL_RECORDS = 5_000


@dataclass(frozen=True, slots=True)
class ExactFill:
    """``records`` values of ``value_bytes`` without a key, in batches of ``batch_records``; equal partitions.

    A Produce request takes one batch for each partition, so the more partitions, the sooner it is done.
    """

    value_bytes: int
    batch_records: int
    codec: Codec
    partitions: int
    records: int

    def fill(self, cluster: SandboxCluster, topic: str, scale: float, scratch: Path) -> None:  # noqa: ARG002
        """Send batches of a prepared pool in turns, some requests in flight."""
        asyncio.run(self._fill(cluster, topic, max(1, round(scale * self.records / self._in_a_request))))

    @property
    def _in_a_request(self) -> int:
        return self.batch_records * self.partitions

    def _pool(self) -> list[bytes]:
        now = time.time_ns() // 1_000_000
        lines = values(self.value_bytes, max(_POOL_RECORDS, self.batch_records))
        records = [Record(0, now, TimestampType.CREATE_TIME, None, line.encode()) for line in lines]
        starts = range(0, len(records) - self.batch_records + 1, self.batch_records)
        return [encode(records[at : at + self.batch_records], codec=self.codec) for at in starts]

    async def _fill(self, cluster: SandboxCluster, topic: str, requests: int) -> None:
        pool = self._pool()
        async with open_cluster(ClusterContext("source", tuple(cluster.bootstrap.split(",")))) as known:
            meta, part = await known.partition(topic, 0)
            connection = await known.connection(part.leader)
            version = produce.version_for(connection)
            await self._await_leader(connection, topic)
            flight: deque[asyncio.Future[Frame]] = deque()
            at = 0
            for _ in range(requests):
                batches = []
                for partition in range(self.partitions):
                    batches.append(produce.Outgoing(topic, meta.id, partition, pool[at]))
                    at = (at + 1) % len(pool)
                flight.append(produce.submit(connection, batches))
                if len(flight) >= _IN_FLIGHT:
                    _check(await flight.popleft(), version)
            while flight:
                _check(await flight.popleft(), version)

    async def _await_leader(self, connection: Connection, topic: str) -> None:
        """A broker tells of a new topic a moment before it leads all of its partitions."""
        wanted = {(topic, partition): (LATEST, -1) for partition in range(self.partitions)}
        while any(answer.code for answer in (await list_offsets(connection, wanted)).values()):
            await asyncio.sleep(0.05)


def _check(frame: Frame, version: int) -> None:
    refused = [answer for answer in produce.parse(frame, version) if answer.code]
    frame.release()
    if refused:
        raise RuntimeError(f"the source refused a batch: {refused[0]}")
