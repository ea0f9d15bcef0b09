"""Batches that are appended within a transaction: each once and in order, whatever brokers answer meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from anabranch.errors import AnabranchError
from anabranch.kafka import transactional_write as writing
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import (
    AuthenticationError,
    BrokerRefusedError,
    ConnectionLostError,
    PermissionDeniedError,
)
from anabranch.kafka.frames import Frame
from anabranch.kafka.transactional import FencedError, TransactionalProducer
from anabranch.kafka.transactional_write import BatchTooLargeError, NoLeaderError, OutOfOrderError, PartitionWriter
from anabranch.model.topics import TopicPartition
from tests.unit.kafka.scripted import METADATA, Asked, Scripted, frame_of

pytestmark = pytest.mark.unit

PLACE = TopicPartition("t", 3)
PRODUCER = TransactionalProducer("id", 7, 1)
LOST = ConnectionLostError("scripted", "1", "gone")
Answer = int | AnabranchError


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PAUSE_S", 0.0)


def batches(count: int) -> list[bytes]:
    """Some, each of another length."""
    return [bytes([65 + number]) * (10 + number) for number in range(count)]


class Leaders(Scripted):
    """Brokers that take what is sent; each request is answered by the next of ``script``, then by 0.

    ``places`` are the leaders that the metadata names, one after the other.
    """

    def __init__(self, *script: Answer, places: Sequence[int] = (1,)) -> None:
        super().__init__(self._topics)
        self.script, self.places = deque(script), deque(places)
        self.sent: list[tuple[int, bytes]] = []
        self.requests: list[Any] = []
        self.most = self.waiting = self.looked = 0
        self.throttled: list[float] = []

    def _topics(self, asked: Asked) -> Any:
        if asked.request.API_KEY != METADATA or not asked.request.topics:
            return None
        self.looked += 1
        leader = self.places[0] if len(self.places) == 1 else self.places.popleft()
        row = MetadataResponse.MetadataResponseTopic
        part = row.MetadataResponsePartition
        parts = [part(partition_index=index, leader_id=leader, leader_epoch=-1) for index in (0, PLACE.partition)]
        return MetadataResponse(topics=[row(name=PLACE.topic, partitions=parts)])

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        assert purpose == "produce"
        if self.script and isinstance(self.script[0], AuthenticationError):
            raise self.script.popleft()  # type: ignore[misc]
        writable = asyncio.Event()
        writable.set()

        def submit(key: int, version: int, flexible: bool, parts: Sequence[bytes], timeout: float) -> Any:
            request = ProduceRequest.decode(b"".join(parts), version=version)
            self.requests.append(request)
            (part,) = request.topic_data[0].partition_data
            self.sent.append((node, bytes(part.records)))
            future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            asyncio.get_running_loop().call_soon(self._settle, future, self.script.popleft() if self.script else 0)
            return future

        made = SimpleNamespace(submit=submit, writable=writable, throttled=self.throttled.append, offers=lambda _: 13)
        return cast(Connection, made)

    def _settle(self, future: asyncio.Future[Frame], told: Answer) -> None:
        self.waiting -= 1
        if isinstance(told, AnabranchError):
            future.set_exception(told)
            future.exception()
            return
        row = ProduceResponse.TopicProduceResponse
        part = row.PartitionProduceResponse(index=PLACE.partition, error_code=told, error_message="why")
        answer = ProduceResponse(responses=[row(name=PLACE.topic, partition_responses=[part])], throttle_time_ms=1500)
        future.set_result(frame_of(answer, 9))


def write(leaders: Leaders, *sent: bytes) -> PartitionWriter:
    """Write these batches."""

    async def run() -> PartitionWriter:
        writer = PartitionWriter(leaders)
        await writer.write(PLACE, PRODUCER, iter(sent))
        return writer

    return asyncio.run(run())


def test_batches_are_sent_in_order_and_five_at_once() -> None:
    """So many does a broker know again; each for all replicas, and with the transaction's id."""
    leaders, made = Leaders(), batches(12)
    assert write(leaders, *made).retries == 0
    assert [batch for _, batch in leaders.sent] == made
    assert leaders.most == 5
    assert {(one.acks, one.transactional_id, one.timeout_ms) for one in leaders.requests} == {(-1, "id", 30_000)}
    topics = [topic for one in leaders.requests for topic in one.topic_data]
    assert {(topic.name, topic.partition_data[0].index) for topic in topics} == {("t", 3)}
    assert leaders.throttled == [1.5] * 12


def test_nothing_to_write_is_sent_nowhere() -> None:
    """And is done."""
    leaders = Leaders()
    assert write(leaders).retries == 0
    assert leaders.sent == []


def test_what_a_lost_connection_left_open_is_sent_again_as_it_was() -> None:
    """From the first one without an acknowledgement on; the leader is looked for again."""
    leaders, made = Leaders(0, 0, LOST, places=(1, 2)), batches(5)
    assert write(leaders, *made).retries == 1
    assert leaders.sent == [*((1, one) for one in made), *((2, one) for one in made[2:])]


@pytest.mark.parametrize("code", [3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 51, 56, 74, 75, 76])
def test_codes_that_pass_have_the_same_sent_again(code: int) -> None:
    """To the leader that there is by then; what was acknowledged before is not."""
    leaders, made = Leaders(0, code, places=(1, 2)), batches(2)
    assert write(leaders, *made).retries == 1
    assert leaders.sent == [(1, made[0]), (1, made[1]), (2, made[1])]


@pytest.mark.parametrize("later", [0, 45, 46])
def test_after_a_refused_batch_none_counts_as_written(later: int) -> None:
    """What brokers answer to those behind it says nothing; they follow it again, in order, and no new one before."""
    leaders, made = Leaders(7, *[later] * 4, *[46] * 5), batches(7)
    assert write(leaders, *made).retries == 1
    assert [batch for _, batch in leaders.sent] == [*made[:5], *made]


def test_what_is_in_the_log_already_counts_as_written() -> None:
    """DUPLICATE_SEQUENCE_NUMBER: an acknowledgement was lost."""
    leaders, made = Leaders(46, 46), batches(2)
    assert write(leaders, *made).retries == 0
    assert [batch for _, batch in leaders.sent] == made


@pytest.mark.parametrize(
    ("code", "error"),
    [
        *((code, FencedError) for code in (47, 48, 49, 90)),
        *((code, BatchTooLargeError) for code in (10, 18)),
        (45, OutOfOrderError),
        (29, PermissionDeniedError),
        (87, BrokerRefusedError),
    ],
)
def test_what_will_not_pass_is_an_error_at_once(code: int, error: type[AnabranchError]) -> None:
    """In words for each kind, and nothing is sent behind it."""
    leaders, made = Leaders(0, code), batches(3)
    with pytest.raises(error) as refused:
        write(leaders, *made)
    assert [batch for _, batch in leaders.sent] == made
    told = refused.value
    if isinstance(told, FencedError):
        assert (told.cluster, told.transactional_id) == ("scripted", "id")
    elif isinstance(told, BatchTooLargeError):
        assert (told.partition, told.bytes) == (PLACE, len(made[1]))
    elif isinstance(told, OutOfOrderError):
        assert told.partition == PLACE
    elif isinstance(told, BrokerRefusedError):
        assert (told.code, told.detail, told.resource) == (87, "why", "topic t")


@pytest.mark.parametrize(("told", "error"), [(6, BrokerRefusedError), (LOST, ConnectionLostError)])
def test_what_does_not_pass_for_long_is_an_error(
    told: Answer, error: type[AnabranchError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows then how much is in the log."""
    monkeypatch.setattr(writing, "PATIENCE_S", -1.0)
    with pytest.raises(error):
        write(Leaders(told), *batches(1))


def test_an_error_that_cannot_pass_is_raised_without_another_attempt() -> None:
    """A login that is refused is no broker that is away."""
    leaders = Leaders(AuthenticationError("scripted", "User:me", "PLAIN", "wrong"))
    with pytest.raises(AuthenticationError):
        write(leaders, *batches(1))
    assert leaders.sent == []


def test_a_partition_without_a_leader_is_waited_for() -> None:
    """Its batches are sent to the one that it has then."""
    leaders = Leaders(places=(-1, -1, 0))
    assert write(leaders, *batches(1)).retries == 2
    assert leaders.sent == [(0, batches(1)[0])]


@pytest.mark.parametrize("partition", [3, 4], ids=["without a leader", "not there"])
def test_a_partition_without_a_leader_for_long_is_named(partition: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was sent."""
    monkeypatch.setattr(writing, "PATIENCE_S", -1.0)
    leaders, place = Leaders(places=(-1,)), TopicPartition("t", partition)
    with pytest.raises(NoLeaderError, match=f"t-{partition}") as refused:
        asyncio.run(PartitionWriter(leaders).write(place, PRODUCER, iter(batches(1))))
    assert (refused.value.cluster, leaders.sent) == ("scripted", [])


def test_a_leader_that_took_what_was_sent_is_not_looked_for_again() -> None:
    """One question for a topic is enough for all of its partitions."""
    leaders = Leaders()

    async def run() -> None:
        writer = PartitionWriter(leaders)
        for partition in (3, 3, 0):
            await writer.write(TopicPartition("t", partition), PRODUCER, iter(batches(1)))

    asyncio.run(run())
    assert leaders.looked == 1
