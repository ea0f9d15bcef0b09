"""Sizes of partitions and space on disks: of leaders, of several directories, of brokers that are away."""

from __future__ import annotations

import pickle
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DescribeLogDirsResponse

from anabranch.kafka import log_dirs
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.log_dirs import BrokersAwayError, DiskSpace, free_space, partition_sizes
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.encode import encode
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import append, records

pytestmark = pytest.mark.unit

STORAGE_ERROR = 56
Row = DescribeLogDirsResponse.DescribeLogDirsResult


def part(index: int, size: int, *, future: bool = False) -> Any:
    """A replica in a directory."""
    return Row.DescribeLogDirsTopic.DescribeLogDirsPartition(
        partition_index=index, partition_size=size, offset_lag=0, is_future_key=future
    )


def directory(path: str, usable: int, total: int, *parts: Any, code: int = 0) -> Any:
    """A directory with replicas of topic t."""
    topics = [Row.DescribeLogDirsTopic(name="t", partitions=list(parts))] if parts else []
    return Row(error_code=code, log_dir=path, topics=topics, total_bytes=total, usable_bytes=usable)


class Told(Cluster):
    """A cluster whose metadata and directories are given."""

    def __init__(self, partitions: dict[int, PartitionMeta], directories: dict[int, list[Any] | Exception]) -> None:
        super().__init__(Transport("c", "User:me"), [])
        self.directories = directories
        self.topic = TopicMeta("t", UUID(int=1), False, 0, partitions, None)

    async def metadata(self, topics: Any, operations: bool = False, node: int | None = None) -> ClusterMetadata:
        brokers = dict.fromkeys(self.directories, ("h", 1))
        return ClusterMetadata("id", 1, brokers, {} if topics == [] else {"t": self.topic})

    async def call(self, request: Any, node: int | None = None, timeout: float = 30.0, cap: int | None = None) -> Any:
        assert node is not None
        told = self.directories[node]
        if isinstance(told, Exception):
            raise told
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=told)


def led_by(leader: int, *replicas: int) -> PartitionMeta:
    """A partition."""
    return PartitionMeta(leader, 0, replicas or (leader,), (), 0)


T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
REFUSED = "Connection refused"


def lost(node: int) -> ConnectionLostError:
    """A broker that is not there."""
    return ConnectionLostError("c", f"h:{node}", REFUSED)


# -- sizes ---------------------------------------------------------------------------------------------


async def test_the_leaders_replica_counts_and_no_other() -> None:
    """Not a follower's, which is behind or compacted otherwise; not one that is on its way to another directory."""
    cluster = Told(
        {1: led_by(1, 1, 2), 0: led_by(2, 1, 2)},
        {
            1: [directory("/a", 1, 9, part(0, 5), part(1, 30)), directory("/b", 1, 9, part(1, 99, future=True))],
            2: [directory("/a", 1, 9, part(1, 6)), directory("/b", 1, 9, part(0, 70))],
        },
    )
    assert list((await partition_sizes(cluster)).items()) == [(T0, 70), (T1, 30)]


async def test_a_broker_that_does_not_answer_is_named() -> None:
    """Each that does not, with the reason; also where it leads nothing, since nobody knows what it still has."""
    cluster = Told({0: led_by(1)}, {1: [directory("/a", 1, 9, part(0, 5))], 2: lost(2), 3: lost(3)})
    for asked in (partition_sizes(cluster), free_space(cluster)):
        with pytest.raises(BrokersAwayError) as raised:
            await asked
        assert raised.value.away == {2: REFUSED, 3: REFUSED}
        assert "broker 2: Connection refused; broker 3" in str(raised.value)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


async def test_a_partition_that_nobody_leads_names_the_brokers_that_are_away() -> None:
    """Those of its replicas that are not in the cluster: without them it has no size."""
    cluster = Told({0: led_by(1), 1: led_by(-1, 1, 2, 3)}, {1: [directory("/a", 1, 9, part(0, 5))]})
    with pytest.raises(BrokersAwayError) as raised:
        await partition_sizes(cluster)
    assert raised.value.away == dict.fromkeys((2, 3), "nobody leads partition t-1")


@pytest.mark.parametrize("leader", [1, -1])
async def test_a_leader_that_has_its_partition_not_yet_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, leader: int
) -> None:
    """A partition that was made just now has a leader or a directory a moment later; one that never has is named."""
    monkeypatch.setattr(log_dirs, "_PAUSE_S", 0.0)
    told = directory("/a", 1, 9, part(0, 5))
    cluster = Told({0: led_by(leader, 1)}, {1: [directory("/a", 1, 9)] if leader == 1 else [told]})
    asked = cluster.metadata
    times = 0

    async def later(topics: Any, operations: bool = False, node: int | None = None) -> ClusterMetadata:
        nonlocal times
        if (times := times + 1) == 3:
            cluster.topic.partitions[0] = led_by(1)
            cluster.directories[1] = [told]
        return await asked(topics, operations, node)

    monkeypatch.setattr(cluster, "metadata", later)
    assert await partition_sizes(cluster) == {T0: 5}
    assert times == 3
    monkeypatch.setattr(log_dirs, "SETTLE_S", 0.0)
    cluster.directories[1] = [directory("/a", 1, 9)]
    with pytest.raises(BrokerRefusedError, match="DescribeLogDirs for partition t-0 with UNKNOWN_TOPIC_OR_PARTITION"):
        await partition_sizes(cluster)


async def test_a_refusal_is_no_empty_disk() -> None:
    """Brokers before 3.2 refuse by telling of no directory."""
    for asked in (partition_sizes, free_space):
        with pytest.raises(PermissionDeniedError, match="User:me may not Describe on cluster"):
            await asked(Told({}, {1: []}))


async def test_what_a_replicated_topic_weighs_is_told_while_a_replica_is_there() -> None:
    """By who leads now; a partition of which the only replica is away names its broker."""
    with Simulated(ClusterSpec("three", brokers=3)) as simulated:
        context = ClusterContext("three", tuple(simulated.bootstrap.split(",")))
        async with open_cluster(context) as cluster:
            for name, replicas in (("safe", 3), ("single", 1)):
                await create_topic(cluster, name, 3, replicas, {})
            await until_led(cluster, ["safe", "single"])
            batch = encode(records(3))
            for index in range(3):
                meta, led = await cluster.partition("safe", index)
                assert await append(await cluster.connection(led.leader), "safe", meta.id, batch, index) == 0
            sizes = await partition_sizes(cluster)
            wanted = {TopicPartition("safe", index): len(batch) for index in range(3)}
            assert sizes == wanted | {TopicPartition("single", index): 0 for index in range(3)}
            simulated.broker(2).stop()
            with pytest.raises(BrokersAwayError) as raised:
                await partition_sizes(cluster)
            assert set(raised.value.away) == {2}
            simulated.served.do(lambda one: one.delete("single"))
            assert await partition_sizes(cluster) == wanted
            assert set(await free_space(cluster)) == {1, 3}


# -- space ---------------------------------------------------------------------------------------------


async def test_directories_on_one_volume_count_once() -> None:
    """Volumes are added up, without those of directories that are offline; a broker that does not tell has none."""
    cluster = Told(
        {},
        {
            1: [directory("/a", 10, 100), directory("/b", 20, 100), directory("/a/more", 10, 100)],
            2: [directory("/a", 10, 100), directory("/b", -1, -1, code=STORAGE_ERROR)],
            3: [directory("/a", -1, -1)],
        },
    )
    assert await free_space(cluster) == {1: DiskSpace(30, 200), 2: DiskSpace(10, 100), 3: None}


async def test_a_directory_that_cannot_be_told_is_an_error_that_names_it() -> None:
    """Other than one that is offline: then nothing is known of what it has."""
    with pytest.raises(BrokerRefusedError, match="/b of broker 1"):
        await free_space(Told({}, {1: [directory("/a", 1, 9), directory("/b", -1, -1, code=-1)]}))
