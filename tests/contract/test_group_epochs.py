"""A position taken to a cluster whose leader epochs are 50 behind, and coordinators that move while they are asked."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka.admin import NewTopic

from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.groups import commit, committed, describe, list_groups
from anabranch.model.groups import Commit, GroupState
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import await_coordinators, create_topics, retry
from qa.faults.leaders import Leaders
from tests.chance import seed
from tests.contract.lab import TIMEOUT_S, connect

pytestmark = pytest.mark.test

TOPIC, RECORDS, EPOCHS, READ = "flights", 100, 50, 60
AT = TopicPartition(TOPIC, 0)
PROTOCOLS = ("classic", "consumer")


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """A source of two brokers on 3.9.1, and a new target on 4.3.1; both hold the same records."""
    old, new = start_clusters([ClusterSpec("ahead", version="3.9.1", brokers=2), ClusterSpec("fresh", brokers=2)])
    with old, new:
        for cluster in (old, new):
            create_topics(cluster, [NewTopic(TOPIC, 1, 2, config={"min.insync.replicas": "1"})])
            produce(cluster, 0, RECORDS)
            await_coordinators(cluster)
        yield old, new


def produce(cluster: SandboxCluster, first: int, count: int) -> None:
    """Write numbered records."""
    producer = confluent_kafka.Producer(cluster.client_config())
    for number in range(first, first + count):
        producer.produce(TOPIC, str(number).encode(), partition=0)
    assert producer.flush(TIMEOUT_S) == 0


def consumer(cluster: SandboxCluster, group: str, protocol: str = "classic") -> confluent_kafka.Consumer:
    """A consumer that would rather fail than begin anywhere but at its commit."""
    config = {"group.id": group, "group.protocol": protocol, "enable.auto.commit": False}
    return confluent_kafka.Consumer({**cluster.client_config(), **config, "auto.offset.reset": "error"})


def read(reader: confluent_kafka.Consumer, count: int) -> list[int]:
    """The next ``count`` records' numbers; raises whatever else comes."""
    found = []
    while len(found) < count:
        message = reader.poll(TIMEOUT_S)
        assert message is not None, f"nothing in {TIMEOUT_S} s after {len(found)} records"
        assert message.error() is None, message.error()
        found.append(int(message.value()))
    return found


async def epoch_of(client: Client) -> int:
    """The partition's leader epoch."""
    return (await client.partition(TOPIC, 0))[1].leader_epoch


def test_a_consumer_reads_on_from_a_position_of_a_cluster_50_leader_epochs_ahead(
    clusters: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The source's commit carries its epoch; none is written to the target, so that nothing there is fenced."""
    old, new = clusters
    leaders, chance = Leaders(old), random.Random(seed(7))

    async def epochs() -> tuple[int, int]:
        async with connect(old) as source, connect(new) as target:
            return await epoch_of(source), await epoch_of(target)

    while (now := asyncio.run(epochs()))[0] < now[1] + EPOCHS:
        retry(lambda: leaders.rotate([TOPIC], chance))
    for protocol in PROTOCOLS:
        group = f"moved-{protocol}"
        first = confluent_kafka.Consumer(
            {**old.client_config(), "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )
        first.subscribe([TOPIC])
        seen = read(first, READ)
        retry(lambda first=first: first.commit(asynchronous=False))  # type: ignore[misc]
        first.close()

        async def move(group: str = group) -> tuple[Commit, Commit]:
            async with connect(old) as source, connect(new) as target:
                before = (await committed(source, [group]))[group]
                await commit(target, group, before)
                return before[AT], (await committed(target, [group]))[group][AT]

        before, after = asyncio.run(move())
        assert before.offset == READ
        assert (after.offset, after.leader_epoch) == (READ, -1)
        second = consumer(new, group, protocol)
        second.subscribe([TOPIC])
        try:
            assert seen + read(second, RECORDS - READ) == list(range(RECORDS))
        finally:
            second.close()


def test_groups_are_found_again_when_their_coordinator_moves(clusters: tuple[SandboxCluster, SandboxCluster]) -> None:
    """Reads and commits asked of a broker that stopped coordinating, or does not answer, are asked of the next."""
    _, new = clusters
    names = [f"coordinated-{number}" for number in range(20)]

    async def go() -> None:
        async with connect(new) as client:
            for number, name in enumerate(names):
                await commit(client, name, {AT: Commit(number)})
            await asyncio.to_thread(new.broker(2).stop)
            assert (await committed(client, names)).keys() == set(names)
            await asyncio.to_thread(new.broker(2).start)
            await asyncio.to_thread(new.wait_ready)
            for number, name in enumerate(names):
                await commit(client, name, {AT: Commit(number + 1)})
            found = await committed(client, names)
            assert [found[name][AT].offset for name in names] == list(range(1, 21))
            assert {one.state for one in (await describe(client, names)).values()} == {GroupState.EMPTY}
            async with asyncio.timeout(TIMEOUT_S):
                # A group is not listed while the controller gives its coordinator's partition back to the first broker.
                while not set(names) <= {one.name for one in await list_groups(client)}:
                    await asyncio.sleep(0.1)

    asyncio.run(go())
