"""A fetch that a quota throttles is answered without an error and without a partition: nothing is told of the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.headers import header_at
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker import content
from anabranch.records.encode import encode
from anabranch.sandbox import ClusterSpec
from anabranch.spark.verify.batches import _stored
from anabranch.spark.verify.samples import _record
from anabranch.state.maps.rebuild import LogRange, headers
from anabranch.verify.pace import ReadPace
from tests.simulated import Simulated
from tests.unit.asking import append, on, records

pytestmark = pytest.mark.unit

TOPIC, RECORDS = "orders", 3


@pytest.fixture(scope="module")
def simulated() -> Iterator[Simulated]:
    """A cluster of one broker with a topic of some records, a batch each."""

    async def make(cluster: Cluster) -> None:
        await create_topic(cluster, TOPIC, 1, 1, {})
        await until_led(cluster, [TOPIC])
        meta, part = await cluster.partition(TOPIC, 0)
        connection = await cluster.connection(part.leader)
        for _ in range(RECORDS):
            assert await append(connection, TOPIC, meta.id, encode(records(1))) == 0

    with Simulated(ClusterSpec(name="one")) as cluster:
        on(ClusterContext("one", (cluster.bootstrap,)), make)
        yield cluster


async def header(cluster: Cluster) -> int:
    """Look for one batch, as a takeover does."""
    meta, part = await cluster.partition(TOPIC, 0)
    code, found = await header_at(await cluster.connection(part.leader), TOPIC, meta.id, 0, 1)
    return -1 if found is None or code else found.base_offset


async def entries(cluster: Cluster) -> int:
    """Read all, as of a control topic."""
    return len(await KeyedLog(cluster, TOPIC).read())


async def all_headers(cluster: Cluster) -> int:
    """Read the headers of all, as runs are made anew."""
    return len([one async for one in headers(cluster, LogRange(TOPIC, 0, 0, RECORDS))])


async def sample(cluster: Cluster) -> int:
    """Read one record, as a comparison does to show it."""
    found = await _record(cluster, TopicPartition(TOPIC, 0), 1)
    return -1 if found is None else found.offset


async def compared(cluster: Cluster) -> int:
    """Read all, as a comparison does."""
    return len(await _stored(cluster, TopicPartition(TOPIC, 0), 0, RECORDS, True, ReadPace(None)))


async def looked_through(cluster: Cluster) -> int:
    """Read all, as a copy without a map is looked through."""
    return len((await content.read(await content.read_snapshot(cluster, TopicPartition(TOPIC, 0)), 0, RECORDS)).records)


WHO: list[tuple[Callable[[Cluster], Awaitable[int]], int]] = [
    (header, 1),
    (entries, RECORDS),
    (all_headers, RECORDS),
    (sample, 1),
    (compared, RECORDS),
    (looked_through, RECORDS),
]


@pytest.mark.parametrize(("read", "found"), WHO)
def test_whoever_reads_one_partition_asks_again(
    simulated: Simulated, read: Callable[[Cluster], Awaitable[int]], found: int
) -> None:
    """It is no end of the log, and no error."""

    def throttle(one: SimulatedCluster) -> None:
        one.throttles[:] = [1, 1]

    async def ask(cluster: Cluster) -> int:
        simulated.served.do(throttle)
        return await read(cluster)

    assert on(ClusterContext("one", (simulated.bootstrap,)), ask) == found
    assert simulated.served.cluster.throttles == []
