"""Who is told to write into a target partition, and what is not taken for somebody else."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest

from anabranch.copier.lane.lane import Lane
from anabranch.copier.target import foreign_writers as module
from anabranch.copier.target.foreign_writers import WORDS, ForeignWriters
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.partitions import write_marker
from anabranch.kafka.settling import until_led
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader
from anabranch.sandbox import ClusterSpec
from anabranch.state.maps.rebuild import LogRange
from qa.timeouts import TIMEOUT_S
from tests.simulated import Simulated
from tests.unit.asking import append, on, records

pytestmark = pytest.mark.unit
OWN, STRANGER, NOBODY = 7_000, 9_000, -1


@pytest.fixture(scope="module")
def target() -> Iterator[Simulated]:
    """One cluster for all; each case has a topic."""
    with Simulated(ClusterSpec(name="new"), 1) as made:
        yield made


@pytest.mark.parametrize(
    ("writers", "said"),
    [
        pytest.param([OWN, OWN], "", id="an earlier owner of the lane"),
        pytest.param([], "", id="markers alone"),
        pytest.param([OWN, NOBODY], f"{WORDS} (without a producer id at offset 3)", id="a plain producer"),
        pytest.param([STRANGER], f"{WORDS} (producer id 9000 at offset 1)", id="an idempotent producer"),
        pytest.param([OWN, STRANGER], f"{WORDS} (producer id 9000 at offset 3)", id="behind what is the lane's"),
    ],
)
def test_a_record_in_a_gap_that_is_not_the_lane_s_is_named(
    target: Simulated, writers: list[int], said: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever it is, with a producer id or without; the gap is looked at once."""
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    topic = request.node.callspec.id.replace(" ", "-").replace("'", "")

    async def play(cluster: Cluster) -> str:
        await create_topic(cluster, topic, 1, 1, {})
        await until_led(cluster, [topic])
        meta, part = await cluster.partition(topic, 0)
        connection = await cluster.connection(part.leader)
        assert await write_marker(connection, topic, 0, 8_000) == 0
        sequences = dict.fromkeys(writers, 0)
        for one in writers:
            number = -1 if one == NOBODY else sequences[one]
            epoch = -1 if one == NOBODY else 0
            batch = encode(records(2), producer_id=one, producer_epoch=epoch, sequence=number)
            assert await append(connection, topic, meta.id, batch) == 0
            sequences[one] += 2
        lane = made(TopicPartition(topic, 0), TopicId(meta.id))
        lane.copied.target_gap = (0, 1 + 2 * len(writers))
        looking = asyncio.create_task(ForeignWriters(cluster, {lane.key: {OWN}}.__getitem__).run([lane]))
        async with asyncio.timeout(TIMEOUT_S):
            while lane.copied.target_gap is not None and not looking.done():
                await asyncio.sleep(0.001)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        return lane.status.foreign_writer

    assert on(ClusterContext("new", (target.bootstrap,)), play) == said


def test_a_gap_that_comes_while_one_is_looked_at_is_looked_at_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever wrote there is not named."""
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    looked: list[tuple[int, int]] = []
    lane = made(TopicPartition("t", 0), TopicId(uuid.UUID(int=8)))

    async def headers(_: Cluster, log: LogRange) -> AsyncIterator[BatchHeader]:
        looked.append((log.start, log.end))
        if len(looked) == 1:
            lane.copied.target_gap = (7, 9)
            return
        yield BatchHeader(7, 100, 0, 2, 0, 0, 0, 0, 0, STRANGER, 0, 0, 1)

    async def play() -> None:
        lane.copied.target_gap = (3, 5)
        looking = asyncio.create_task(ForeignWriters(cast(Cluster, None), lambda _: {OWN}).run([lane]))
        async with asyncio.timeout(TIMEOUT_S):
            while lane.copied.target_gap is not None and not looking.done():
                await asyncio.sleep(0.001)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    monkeypatch.setattr(module, "headers", headers)
    asyncio.run(play())
    assert looked == [(3, 5), (7, 9)]
    assert lane.status.foreign_writer == f"{WORDS} (producer id {STRANGER} at offset 7)"


def made(at: TopicPartition, topic: TopicId) -> Lane:
    """A lane that writes there."""
    key = LaneKey("l", TopicId(uuid.UUID(int=9)), 0)
    return Lane(LaneAssignment(key, at, at, topic, LaneStart(), ModePolicy.MAPPED))
