"""What is asked of one simulated cluster: ends, leaders, markers, and the records of a control topic."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.producer import AddPartitionsToTxnRequest, ProduceRequest

from anabranch.kafka import ends as kafka_ends
from anabranch.kafka import log as kafka_log
from anabranch.kafka import log_ends as replicate_ends
from anabranch.kafka import produce
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.headers import header_at
from anabranch.kafka.log import ClockAheadError, KeyedLog, LogShrunkError
from anabranch.kafka.partitions import (
    LATEST,
    OffsetAnswer,
    delete_records,
    list_offsets,
    transactional_producer_id,
    write_marker,
)
from anabranch.kafka.settling import until_led
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.control import ControlType, marker_of
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader
from anabranch.sandbox import ClusterSpec
from tests.simulated import Simulated
from tests.unit.asking import append, on, records

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def context() -> Iterator[ClusterContext]:
    """A cluster of one broker."""
    with Simulated(ClusterSpec(name="one")) as cluster:
        yield ClusterContext("one", (cluster.bootstrap,))


async def topic(cluster: Cluster, name: str) -> tuple[UUID, Connection]:
    """A new topic of one partition, and a connection to its leader."""
    await create_topic(cluster, name, 1, 1, {})
    await until_led(cluster, [name])
    meta, part = await cluster.partition(name, 0)
    return meta.id, await cluster.connection(part.leader)


async def begin(cluster: Cluster, connection: Connection, name: str) -> tuple[int, int]:
    """Three records in a transaction that is open; its producer id and epoch."""
    _, producer, epoch = await transactional_producer_id(cluster, name)
    topics = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[topics(name=name, partitions=[0])],
    )
    await cluster.call(request, await cluster.coordinator(name, 1), cap=3)
    batch = encode(records(3), producer_id=producer, producer_epoch=epoch, sequence=0, transactional=True)
    data = ProduceRequest.TopicProduceData
    written = ProduceRequest(
        transactional_id=name,
        acks=-1,
        timeout_ms=1_000,
        topic_data=[data(name=name, partition_data=[data.PartitionProduceData(index=0, records=batch)])],
    )
    found = await connection.call(written, cap=9)
    assert found.responses[0].partition_responses[0].error_code == 0
    return producer, epoch


def test_the_stable_end_lies_before_an_open_transaction(context: ClusterContext) -> None:
    """What may still be aborted is in the log, and not below the last stable offset."""

    async def ask(cluster: Cluster) -> None:
        topic_id, connection = await topic(cluster, "open")
        at = TopicPartition("open", 0)
        assert await append(connection, "open", topic_id, encode(records(2))) == 0
        await begin(cluster, connection, "open")
        assert await kafka_ends.ends(cluster, [at]) == {at: (0, 5)}
        assert await kafka_ends.ends(cluster, [at], stable=True) == {at: (0, 2)}
        assert await replicate_ends.log_ends(cluster, [at]) == {at: (0, 5)}

    on(context, ask)


def test_a_marker_that_a_person_asks_for_aborts(context: ClusterContext) -> None:
    """The transaction ends, and what it wrote is never committed."""

    async def ask(cluster: Cluster) -> None:
        topic_id, connection = await topic(cluster, "marked")
        producer, epoch = await begin(cluster, connection, "marked")
        assert await write_marker(connection, "marked", 0, producer, epoch=epoch) == 0
        _, header = await header_at(connection, "marked", topic_id, 0, 3)
        assert header is not None
        assert header.is_control
        assert await kind_of(connection, topic_id, header) is ControlType.ABORT

    on(context, ask)


async def kind_of(connection: Connection, topic_id: UUID, header: BatchHeader) -> ControlType:
    """What a marker says."""
    wanted = kafka_log.fetch.PartitionFetch("marked", topic_id, 0, -1, header.base_offset, -1, 1000)
    frame = await kafka_log.fetch.submit(connection, [wanted], max_wait_ms=0, max_bytes=1000)
    try:
        _, (answer,) = kafka_log.fetch.parse(frame, kafka_log.fetch.version_for(connection))
        return marker_of(answer.records, 0, header)
    finally:
        frame.release()


@pytest.mark.parametrize("fails", ["first", "last"])
def test_the_end_of_a_partition_that_cannot_be_asked_for_is_no_end(
    context: ClusterContext, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """One of the two look-ups is refused: nobody goes on with the other alone."""

    async def refused(connection: Connection, wanted: dict[Any, tuple[int, int]], *, isolation: int = 0) -> Any:
        found = await list_offsets(connection, wanted, isolation=isolation)
        if all((at == LATEST) == (fails == "last") for at, _ in wanted.values()):
            return {key: OffsetAnswer(42, -1, -1) for key in found}  # INVALID_REQUEST, which nobody asks again after
        return found

    async def ask(cluster: Cluster) -> None:
        await topic(cluster, f"refused-{fails}")
        at = TopicPartition(f"refused-{fails}", 0)
        monkeypatch.setattr(kafka_ends, "list_offsets", refused)
        monkeypatch.setattr(replicate_ends, "list_offsets", refused)
        with pytest.raises(BrokerRefusedError):
            await kafka_ends.ends(cluster, [at])
        assert await replicate_ends.log_ends(cluster, [at]) == {}

    on(context, ask)


def test_an_append_whose_outcome_is_unknown_is_not_sent_again(
    context: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record may be there: a second one would lie behind what others have appended since."""

    async def ask(cluster: Cluster) -> None:
        await topic(cluster, "journal")
        sent = []
        submit = produce.submit

        def lost(*arguments: Any) -> Any:
            sent.append(submit(*arguments))
            if len(sent) > 1:
                return sent[-1]

            async def outcome() -> Any:
                (await sent[-1]).release()
                raise ConnectionLostError("one", "1", "gone")

            return outcome()

        log = KeyedLog(cluster, "journal")
        with monkeypatch.context() as patch:
            patch.setattr(kafka_log.produce, "submit", lost)
            assert await log.append([(b"k", b"v")], 1_000) is None
        assert len(sent) == 1
        assert [entry.value for entry in await log.read()] == [b"v"]

    on(context, ask)


@pytest.mark.parametrize(
    ("code", "known"), [(2, True), (10, True), (19, True), (29, True), (87, True), (6, False), (7, False), (20, False)]
)
def test_only_some_codes_say_that_nothing_was_appended(
    context: ClusterContext, monkeypatch: pytest.MonkeyPatch, code: int, known: bool
) -> None:
    """A time-out or a lost leadership does not: the record may be on the replicas all the same."""

    async def ask(cluster: Cluster) -> None:
        name = f"codes-{code}"
        await topic(cluster, name)
        refused = produce.Produced(name, 0, code, -1, -1, "")
        monkeypatch.setattr(kafka_log.produce, "parse_with_throttle", lambda *_: (0.0, [refused]))
        log = KeyedLog(cluster, name)
        if known:
            with pytest.raises(PermissionDeniedError if code == 29 else BrokerRefusedError, match="one"):
                await log.append([(b"k", b"v")], 1_000)
        else:
            assert await log.append([(b"k", b"v")], 1_000) is None

    on(context, ask)


def test_a_clock_that_is_ahead_of_the_brokers_is_said_to_be_that(
    context: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the time of this machine: the broker's own word is that of a time stamp that is not valid."""

    async def ask(cluster: Cluster) -> None:
        await topic(cluster, "ahead")
        refused = produce.Produced("ahead", 0, 32, -1, -1, "")
        monkeypatch.setattr(kafka_log.produce, "parse_with_throttle", lambda *_: (0.0, [refused]))
        with pytest.raises(ClockAheadError) as ahead:
            await KeyedLog(cluster, "ahead").append([(b"k", b"v")], 1_767_323_045_678)
        assert ahead.value.message == (
            "cluster one: ahead refuses records of 2026-01-02 03:04:05 UTC, which is this machine's time: its clock is "
            "ahead of the brokers'"
        )
        assert "clock" in ahead.value.hint

    on(context, ask)


def test_a_read_that_fails_half_way_is_as_if_it_had_not_been_made(
    context: ClusterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one has all of it, from the first record on."""

    async def ask(cluster: Cluster) -> None:
        await topic(cluster, "half")
        log = KeyedLog(cluster, "half")
        for value in (b"1", b"2"):
            assert await log.append([(b"k", value)], 1_000) is not None
        hand_out, given = kafka_log._hand_out, list[int]()

        async def failing(*arguments: Any) -> None:
            await hand_out(*arguments)
            given.append(len(given))
            if len(given) == 2:
                raise ConnectionLostError("one", "1", "gone")

        with monkeypatch.context() as patch:
            patch.setattr(kafka_log, "_hand_out", failing)
            with pytest.raises(ConnectionLostError):
                await log.read()
        assert (log.position, log.start) == (-1, 0)
        assert [entry.value for entry in await log.read()] == [b"1", b"2"]

    on(context, ask)


def test_a_control_topic_that_ends_before_what_was_read_is_an_error(context: ClusterContext) -> None:
    """It was truncated or made again: what is in it now has to be read from its beginning."""

    async def ask(cluster: Cluster) -> None:
        await topic(cluster, "shrunk")
        log = KeyedLog(cluster, "shrunk")
        await log.append([(b"k", b"v")], 1_000)
        assert len(await log.read()) == 1
        log.position = 9
        with pytest.raises(LogShrunkError):
            await log.read()

    on(context, ask)


def test_records_that_were_deleted_are_below_the_first_offset(context: ClusterContext) -> None:
    """The first offset moves, the end stays."""

    async def ask(cluster: Cluster) -> None:
        topic_id, connection = await topic(cluster, "short")
        assert await append(connection, "short", topic_id, encode(records(4))) == 0
        assert await delete_records(connection, "short", 0, 3) == 0
        at = TopicPartition("short", 0)
        assert await kafka_ends.ends(cluster, [at]) == {at: (3, 4)}

    on(context, ask)


def answer(leader: int, epoch: int, topic_id: UUID) -> Any:
    """A metadata answer about one partition."""
    part = SimpleNamespace(
        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=[1, 2], error_code=0
    )
    told = SimpleNamespace(
        name="t", topic_id=topic_id, is_internal=False, error_code=0, partitions=[part], authorized_operations=None
    )
    return SimpleNamespace(cluster_id="id", controller_id=1, brokers=[], topics=[told])


def test_a_broker_that_was_cut_off_does_not_say_who_leads() -> None:
    """The highest leader epoch of all answers stands, until a newer one; a topic that was made anew begins again."""
    cluster = Cluster(Transport("c", "User:ANONYMOUS"), [])
    first, second = UUID(int=1), UUID(int=2)

    def leader(*told: Any) -> tuple[int, int]:
        part = cluster._learn(answer(*told)).topics["t"].partitions[0]
        return part.leader, part.leader_epoch

    assert leader(1, 5, first) == (1, 5)
    assert leader(2, 7, first) == (2, 7)
    assert leader(1, 5, first) == (2, 7)
    assert leader(3, 8, first) == (3, 8)
    assert leader(1, 0, second) == (1, 0)
