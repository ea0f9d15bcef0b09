"""Exact answers, asked for through Kafka's own RemoteClusterUtils and MirrorClient."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewTopic

from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.state.topics.mirrormaker import beat, publish
from qa.brokers import STEADY, create_topics
from tests.contract.lab import connect
from tests.integration.mm2.java import answers

pytestmark = pytest.mark.full

FIRST, SECOND = TopicPartition("old.flights", 0), TopicPartition("old.flights", 1)


@pytest.fixture(scope="module")
def target() -> Iterator[SandboxCluster]:
    """A cluster that no MirrorMaker 2 ever wrote to."""
    with SandboxCluster.start(ClusterSpec("answers", overrides=STEADY)) as running:
        yield running


def test_mirror_makers_own_client_reads_our_exact_positions(target: SandboxCluster) -> None:
    """translateOffsets gives the newest position and its metadata for each group and partition, hops and topics are
    told as of a cluster that MirrorMaker fills, and nothing but our topics is there to tell them.
    """
    create_topics(target, [NewTopic("old.flights", 2, 1)])

    async def write() -> None:
        async with connect(target) as client:
            await beat(client, "old", "new")
            stale = MirrorCheckpoint("readers", FIRST, 900, 899, "before")
            many = [MirrorCheckpoint(f"group-{number}", SECOND, number, number + 1) for number in range(1200)]
            assert await publish(client, "old", [stale, *many]) == 1201
            exact = [
                MirrorCheckpoint("readers", FIRST, 1000, 987, "noted ✓"),
                MirrorCheckpoint("readers", SECOND, 7, 0),
            ]
            assert await publish(client, "old", exact) == 2
            assert await publish(client, "old", []) == 0

    asyncio.run(write())
    told = answers(target, "old", ["readers", "strangers"])
    facts = dict(line for line in told if len(line) == 2)
    assert facts == {
        "hops": "1",
        "hops of none": "-1",
        "upstream": "[old]",
        "heartbeats": "[heartbeats, old.heartbeats]",
        "checkpoints": "[old.checkpoints.internal]",
        "topics": "[old.flights, old.heartbeats]",
    }
    positions = {line for line in told if len(line) == 4}
    assert positions == {("readers", str(FIRST), "987", "noted ✓"), ("readers", str(SECOND), "0", "")}
    in_bulk = {line[1:] for line in told if line[0] == "all"}
    assert len(in_bulk) == 1202
    assert positions < in_bulk and ("group-7", str(SECOND), "8", "") in in_bulk
