"""Carrying out a takeover's effects: on the leader of the ownership's epoch, in the lane's own topic, and nowhere
else.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from anabranch.copier.target import partition as module
from anabranch.copier.target.partition import TargetPartition
from anabranch.kafka import partitions
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.partitions import OffsetAnswer, empty_transaction, list_offset, transactional_producer_id
from anabranch.kafka.settling import until_led
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.effects import (
    FORGOTTEN,
    DescribeProducer,
    Effect,
    Fence,
    Fences,
    LogEnd,
    ReadEnd,
    ReadMarkers,
    ReadTail,
    Steps,
)
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader
from anabranch.sandbox import ClusterSpec
from anabranch.state.topics.control import MappedRanges, ensure_topics
from anabranch.state.topics.journal import GapRecords, Journal
from tests.simulated import Simulated
from tests.unit.asking import append, on, records

pytestmark = pytest.mark.unit

PLACE = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Simulated, ClusterContext]]:
    """Two brokers."""
    with Simulated(ClusterSpec(name="new", brokers=2), 1) as made:
        yield made, ClusterContext("new", tuple(made.bootstrap.split(",")))


async def opened(target: Cluster, topic_id: uuid.UUID | None = None) -> TargetPartition:
    """The partition of a topic that is there."""
    if "orders" not in (await target.metadata(None)).topics:
        await ensure_topics(target)
        await create_topic(target, "orders", 1, 2, {})
        await until_led(target, ["orders"])
    meta, _ = await target.partition("orders", 0)
    found = TopicId(topic_id or meta.id)
    lane = LaneAssignment(LaneKey("l", TopicId(uuid.UUID(int=9)), 0), PLACE, PLACE, found, LaneStart(), ModePolicy.AUTO)
    return await TargetPartition.open(
        target, Journal(target), GapRecords(target), MappedRanges(target), lane, "produce", 0, by_coordinator=False
    )


def effect(one: Effect) -> Steps[Any]:
    """One effect alone."""
    return (yield one)


def test_a_topic_that_was_made_again_is_not_written(cluster: tuple[Simulated, ClusterContext]) -> None:
    """Its records belong to another history."""
    with pytest.raises(LaneStopped) as stopped:
        on(cluster[1], lambda target: opened(target, uuid.UUID(int=77)))
    assert stopped.value.reason is Stop.TARGET_MADE_AGAIN


def test_what_a_leader_of_another_epoch_answers_counts_for_nothing(cluster: tuple[Simulated, ClusterContext]) -> None:
    """A follower answers Fetch and DescribeProducers as a leader does."""
    simulated, context = cluster

    async def ask(target: Cluster) -> Ending:
        place = await opened(target)
        await place.confirm()
        simulated.served.do(
            lambda one: one.move_leader(one.partition("orders", 0), 3 - one.partition("orders", 0).leader)
        )
        with pytest.raises(OwnershipEnded) as ended:
            await place.confirm()
        return ended.value.reason

    assert on(context, ask) in {Ending.NOT_LEADER, Ending.LEADER_EPOCH}


@pytest.mark.parametrize("asked", [ReadMarkers((0,)), ReadTail(1), DescribeProducer(5_000)])
def test_what_a_former_leader_tells_of_its_log_is_no_answer(
    cluster: tuple[Simulated, ClusterContext], asked: Effect
) -> None:
    """It has lost what is not on the present one, and does not say so by itself."""
    simulated, context = cluster

    async def ask(target: Cluster) -> Ending:
        place = await opened(target)
        meta, _ = await target.partition("orders", 0)
        await append(place.connection, "orders", meta.id, encode(records(1)))
        simulated.served.do(
            lambda one: one.move_leader(one.partition("orders", 0), 3 - one.partition("orders", 0).leader)
        )
        with pytest.raises(OwnershipEnded) as ended:
            await place.drive(effect(asked))
        return ended.value.reason

    assert on(context, ask) in {Ending.NOT_LEADER, Ending.LEADER_EPOCH}


def test_the_end_of_a_log_is_that_of_what_its_leader_has(
    cluster: tuple[Simulated, ClusterContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the other replicas have not taken it yet: a takeover waits for these."""

    async def behind(connection: Connection, topic: str, partition: int, at: int, *, epoch: int) -> OffsetAnswer:
        found = await list_offset(connection, topic, partition, at, epoch=epoch)
        return replace(found, offset=found.offset - 1) if at == partitions.LATEST else found

    async def ask(target: Cluster) -> tuple[LogEnd, int]:
        place = await opened(target)
        meta, _ = await target.partition("orders", 0)
        await append(place.connection, "orders", meta.id, encode(records(2)))
        whole = await place.drive(effect(ReadEnd()))
        monkeypatch.setattr(partitions, "list_offset", behind)
        return await place.drive(effect(ReadEnd())), whole.end

    found, end = on(cluster[1], ask)
    assert found == LogEnd(0, end - 1, end)


def test_an_owner_that_its_coordinator_fences_is_so_once_the_marker_is_in_the_log(
    cluster: tuple[Simulated, ClusterContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marker may be the first batch behind the log's end of before."""
    monkeypatch.setattr(module, "_PAUSE_S", 0.01)

    async def ask(target: Cluster) -> tuple[tuple[int, ...], BatchHeader | None]:
        place = await opened(target)
        _, producer_id, epoch = await transactional_producer_id(target, "owner-1")
        assert await empty_transaction(target, "owner-1", producer_id, epoch, "orders", 0) == 0
        codes = await place.drive(effect(Fences((Fence(producer_id, "owner-1"),))))
        end = await place._read_end()
        last = await place._batch_at(end.high_watermark - 1)
        assert last is not None
        assert (last.producer_id, last.producer_epoch > epoch) == (producer_id, True)
        return codes, last

    codes, last = on(cluster[1], ask)
    assert codes == (0,)
    assert last is not None and last.is_control


def test_many_owners_are_shut_out_and_proven_by_few_requests(cluster: tuple[Simulated, ClusterContext]) -> None:
    """However many earlier claims there are; each has its own answer, and its marker is found again."""
    ids = range(5_000, 5_120)

    async def ask(target: Cluster) -> tuple[tuple[Any, ...], list[int], int]:
        place = await opened(target)
        meta, _ = await target.partition("orders", 0)
        await append(place.connection, "orders", meta.id, encode(records(1)))
        with patch.object(Connection, "call", autospec=True, side_effect=Connection.call) as calls:
            codes = await place.drive(effect(Fences(tuple(Fence(one, None) for one in ids))))
        asked = calls.call_count
        end = (await place._read_end()).end
        found = await place.drive(effect(ReadMarkers(tuple(range(end - len(ids), end)))))
        return codes, [one.producer_id for one in found], asked

    codes, found, asked = on(cluster[1], ask)
    assert codes == (0,) * len(ids)
    assert sorted(found) == list(ids)
    assert asked <= 3


def test_an_id_that_its_coordinator_does_not_know_is_told_as_forgotten(
    cluster: tuple[Simulated, ClusterContext],
) -> None:
    """What that means depends on how old the claim is."""

    async def ask(target: Cluster) -> tuple[object, ...]:
        place = await opened(target)
        return await place.drive(effect(Fences((Fence(4_242, "nobody-s"),))))

    assert on(cluster[1], ask) == (FORGOTTEN,)


def walk(below: int) -> Steps[int]:
    """From batch to batch backwards, as a takeover looks for the lane's last one; how many it has met."""
    met = 0
    while below > 0:
        found = yield ReadTail(below)
        below, met = found.base_offset, met + 1
    return met


def test_a_long_walk_lets_others_have_their_turn(
    cluster: tuple[Simulated, ClusterContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each some looks, also where the window that was read answers them all: the lanes of a worker share one loop."""
    looks, a_turn = 200, 10
    monkeypatch.setattr(module, "_LOOKS_A_TURN", a_turn)

    async def ask(target: Cluster) -> tuple[int, int]:
        place, turns = await opened(target), 0
        window = [BatchHeader(at, 100, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 1) for at in range(looks)]
        place._walk.headers, place._walk.starts, place._walk.end = window, list(range(looks)), looks

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        other = asyncio.create_task(others())
        met = await place.drive(walk(looks))
        other.cancel()
        return met, turns

    met, turns = on(cluster[1], ask)
    assert met == looks
    assert turns >= looks // a_turn - 1
