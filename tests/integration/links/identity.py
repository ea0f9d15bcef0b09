"""Sources whose logs begin far above zero, and what identity means: each record at the same offset on both sides."""

from __future__ import annotations

import asyncio
import time

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from anabranch.kafka import produce
from anabranch.kafka.security import open_cluster
from anabranch.records.filler import filler_batch
from anabranch.sandbox import SandboxCluster
from qa.logcompare import read_log
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.topics import admin, delete_records

BATCH = 100_000


def begin_at(cluster: SandboxCluster, topic: str, offset: int, partition: int = 0) -> None:
    """Fill a log with empty records up to an offset, and delete them."""

    async def fill() -> None:
        async with open_cluster(context_of(cluster, "admin")) as client:
            meta, part = await client.partition(topic, partition)
            connection = await client.connection(part.leader)
            done = 0
            while done < offset:
                count = min(BATCH, offset - done)
                batch = bytearray(filler_batch(count, time.time_ns() // 1_000_000))
                one = produce.Outgoing(topic, meta.id, partition, memoryview(batch))
                frame = await produce.submit(connection, [one])
                answer = produce.parse(frame, produce.version_for(connection))[0]
                frame.release()
                assert (answer.code, answer.base_offset) == (0, done)
                done += count

    asyncio.run(fill())
    delete_records(cluster, topic, offset, partition)


def assert_equal_offsets(old: SandboxCluster, new: SandboxCluster, topic: str, partition: int = 0) -> int:
    """What a read-committed consumer of the source is given, one of the target is given, each at the same offset."""
    here, there = (
        [
            (entry.offset, entry.digest)
            for entry in read_log(
                {"bootstrap.servers": cluster.internal_bootstrap, "fetch.wait.max.ms": 20},
                topic,
                partition,
                committed=True,
            )
        ]
        for cluster in (old, new)
    )
    assert here == there
    return len(here)


def log_start(cluster: SandboxCluster, topic: str, partition: int = 0) -> int:
    """The first offset of a partition."""
    where = TopicPartition(topic, partition)
    return int(admin(cluster).list_offsets({where: OffsetSpec.earliest()})[where].result(TIMEOUT_S).offset)
