"""Topics that the broker which is asked first does not know, and others do: it may have old metadata for minutes."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError
from anabranch.kafka.log_ends import log_ends
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.kafka.start import ask_offsets
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.unit

LAST = 3
"""The broker that is asked last."""
OTHER = TopicPartition("u", 0)


def lagging(brokers: Collection[int], simulated: Simulated) -> None:
    """These brokers do not know the topic from now on."""

    def forget(cluster: SimulatedCluster) -> None:
        cluster.topics["t"].known.update(dict.fromkeys(brokers, math.inf))

    simulated.served.do(forget)


@pytest.mark.parametrize("unaware", [1, 2], ids=["one", "two"])
def test_one_broker_that_knows_a_topic_is_enough(unaware: int) -> None:
    """For its leader, its ends and its offsets, whichever broker is asked first."""
    with Simulated(ClusterSpec(name="old", brokers=3), 1) as simulated:

        async def ask(cluster: Cluster) -> None:
            await create_topic(cluster, "u", 1, 3, {})
            meta = await create_led_by_last(cluster)
            one = TopicPartition("t", next(number for number, part in meta.partitions.items() if part.leader == LAST))
            lagging(range(1, unaware + 1), simulated)
            assert (await cluster.metadata(["t"])).topics["t"].error == UNKNOWN_TOPIC, "the first broker knows it"
            assert (await cluster.partition("t", one.partition))[1].leader == LAST
            assert await offset_at(cluster, one, EARLIEST) == 0
            assert await ask_offsets(cluster, {one: EARLIEST, OTHER: EARLIEST}) == {one: 0, OTHER: 0}
            assert await ends(cluster, [one, OTHER]) == {one: (0, 0), OTHER: (0, 0)}
            assert await log_ends(cluster, [one, OTHER]) == {one: (0, 0), OTHER: (0, 0)}

        on(ClusterContext("old", tuple(simulated.bootstrap.split(","))), ask)


async def create_led_by_last(cluster: Cluster) -> TopicMeta:
    """Topic ``t`` as it is described, with a partition for each broker to lead."""
    await create_topic(cluster, "t", 3, 3, {})
    await until_led(cluster, ["t", "u"])
    return (await cluster.metadata(["t"])).topics["t"]


def test_what_none_knows_is_unknown_and_so_is_a_partition_that_is_not_there() -> None:
    """The error is the broker's, and names what was asked for."""
    with Simulated(ClusterSpec(name="old", brokers=3), 1) as simulated:

        async def ask(cluster: Cluster) -> None:
            await create_topic(cluster, "t", 1, 3, {})
            await until_led(cluster, ["t"])
            assert (await cluster.described([TopicPartition("gone", 0)]))["gone"].error == UNKNOWN_TOPIC
            for missing in (TopicPartition("gone", 0), TopicPartition("t", 1)):
                with pytest.raises(BrokerRefusedError, match=missing.topic) as refused:
                    await cluster.partition(missing.topic, missing.partition)
                assert refused.value.code == UNKNOWN_TOPIC
                assert await log_ends(cluster, [missing]) == {}

        on(ClusterContext("old", tuple(simulated.bootstrap.split(","))), ask)
