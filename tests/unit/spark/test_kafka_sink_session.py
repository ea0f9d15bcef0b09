"""Starts of the exactly-once Kafka sink beside a simulated cluster: each batch is there once, however a start ends."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.kafka import transactional
from anabranch.kafka import transactional_write as writing
from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.kafka.simulated.apis import produce as appending
from anabranch.kafka.simulated.groups import CommittedOffset
from anabranch.kafka.transactional import FencedError, add_partitions, end, take_over
from anabranch.kafka.transactional_write import PartitionWriter
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.records.encode import body_of
from anabranch.records.header import Codec
from anabranch.sandbox import ClusterSpec
from anabranch.spark.streams.kafka_sink import session as module
from anabranch.spark.streams.kafka_sink.session import SinkSession
from anabranch.spark.streams.kafka_sink.settings import SinkSettings
from anabranch.spark.streams.kafka_sink.spool import PackedBatch
from anabranch.spark.streams.sinks.port import SinkCounts
from anabranch.streams.transaction import TaskAttempt, TaskReport
from anabranch.streams.written import WrittenBatch
from qa.simulation.load import entries
from tests.simulated import Simulated
from tests.unit.asking import on, records

pytestmark = pytest.mark.unit
QUERY, RECORDS = "query-1", 3
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def target() -> Iterator[Simulated]:
    """One cluster for all; each test has a topic."""
    with Simulated(ClusterSpec(name="new"), 1) as made:
        yield made


class Sink:
    """A query's topic, and what of it a reader of committed records sees."""

    def __init__(self, target: Simulated, topic: str, *, is_named: bool) -> None:
        self.target = target
        self.place = TopicPartition(topic, 0)
        self.context = ClusterContext("new", (target.bootstrap,))
        self.settings = SinkSettings(self.context, topic if is_named else None, transactional_id=f"id-{topic}")
        self.group = self.settings.id_of(QUERY)

    async def start(self) -> SinkSession:
        """A start of the query."""
        return await SinkSession.open(QUERY, self.settings, SinkCounts(bytes=0))

    async def write(self, session: SinkSession, batch: int) -> list[TaskReport]:
        """The one task of a batch writes some records, and reports."""
        transaction, attempt = session.begin(batch), TaskAttempt(0, str(batch))
        assert transaction is not None and await session.claim(transaction, attempt) is None
        (turn,) = await session.turns(transaction, attempt, [self.place])
        async with open_cluster(self.context) as cluster:
            sealed = packed().sealed(session.producer, turn.sequence)
            await PartitionWriter(cluster).write(self.place, session.producer, iter([sealed]))
        await session.give_back(transaction, attempt, [(self.place, RECORDS)])
        return [await session.finish(transaction, attempt, len(sealed))]

    def seen(self) -> int:
        """How many records a reader of committed ones sees."""
        at = self.place
        return len(self.target.served.do(lambda one: entries(one.partition(at.topic, at.partition), committed=True)))

    async def holds_once(self, batch: int) -> None:
        """The next start, which waits for the end of what is open, knows the batch; a reader sees each of its records
        and of those before it."""
        following = await self.start()
        assert following.begin(batch) is None
        following.close()
        assert self.seen() == RECORDS * (batch + 1)


def packed() -> PackedBatch:
    """Some records."""
    return PackedBatch(bytes(body_of(records(RECORDS), range(RECORDS))), RECORDS, (1_000, 1_000), Codec.NONE)


def play(target: Simulated, scene: Callable[[Sink], Awaitable[None]], *, is_named: bool = True) -> None:
    """A scene with a topic of its own."""
    sink = Sink(target, f"topic-{next(_numbers)}", is_named=is_named)

    async def made(cluster: Cluster) -> None:
        await create_topic(cluster, sink.place.topic, 1, 1, {})
        await until_led(cluster, [sink.place.topic])
        await scene(sink)

    on(sink.context, made)


@pytest.mark.parametrize("is_named", [True, False], ids=["the sink's topic", "topics of the rows"])
def test_a_start_leaves_out_what_the_one_before_has_committed(target: Simulated, is_named: bool) -> None:
    """The one before was killed between its commit and Spark's checkpoint, so that Spark asks for the batch again."""

    async def scene(sink: Sink) -> None:
        for batch in range(2):
            killed = await sink.start()
            assert await killed.commit(batch, await sink.write(killed, batch)) == RECORDS
            killed.close()
            await sink.holds_once(batch)

    play(target, scene, is_named=is_named)


@pytest.mark.parametrize("is_done", [False, True], ids=["before its end", "behind its end"])
def test_records_and_number_are_both_there_or_neither(
    target: Simulated, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start is lost while its transaction ends; the next one writes the batch exactly where it is not there."""

    async def lost(*asked: Any, **more: Any) -> None:
        if is_done:
            await end(*asked, **more)
        raise ConnectionLostError("new", "1", "gone")

    async def scene(sink: Sink) -> None:
        killed = await sink.start()
        reports = await sink.write(killed, 0)
        with monkeypatch.context() as patched:
            patched.setattr(module, "end", lost)
            with pytest.raises(ConnectionLostError):
                await killed.commit(0, reports)
        assert (killed.counts.records, killed.counts.errors) == (0, 1)
        killed.close()
        if not is_done:
            again = await sink.start()
            assert sink.seen() == 0
            assert await again.commit(0, await sink.write(again, 0)) == RECORDS
            again.close()
        await sink.holds_once(0)

    play(target, scene)


@pytest.mark.parametrize("is_named", [True, False], ids=["the sink's topic", "any topic"])
def test_a_start_waits_for_the_number_of_a_commit_that_is_being_taken_up(
    target: Simulated, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction has ended, and the group's coordinator does not tell of its first commit yet."""
    number = 9_000

    def hold(cluster: SimulatedCluster, sink: Sink) -> None:
        note = CommittedOffset(0, WrittenBatch(QUERY, 7).to_text(), -1)
        cluster.groups.commit_later(sink.group, number, {(sink.place.topic, sink.place.partition): note})
        asked = cluster.groups.is_pending

        def is_pending(name: str, place: tuple[str, int]) -> bool:
            found = asked(name, place)
            if found:  # taken up before it is asked again
                cluster.groups.end_transaction(name, number, commit=True)
            return found

        monkeypatch.setattr(cluster.groups, "is_pending", is_pending)

    async def scene(sink: Sink) -> None:
        target.served.do(lambda one: hold(one, sink))
        session = await sink.start()
        assert session.begin(7) is None and session.begin(8) is not None
        session.close()

    play(target, scene, is_named=is_named)


def test_a_later_start_shuts_the_earlier_one_out(target: Simulated) -> None:
    """What that had written is aborted, and it commits nothing any more."""

    async def scene(sink: Sink) -> None:
        earlier = await sink.start()
        reports = await sink.write(earlier, 0)
        later = await sink.start()
        with pytest.raises(FencedError):
            await earlier.commit(0, reports)
        assert await later.commit(0, await sink.write(later, 0)) == RECORDS
        earlier.close()
        later.close()
        await sink.holds_once(0)

    play(target, scene)


@pytest.mark.parametrize("code", [0, 46], ids=["told where it lies", "told that it is a duplicate"])
def test_a_batch_whose_acknowledgement_was_lost_is_written_once(
    target: Simulated, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent again; what the broker knows already counts as written, and what comes behind it is written too."""
    parse, append = writing.produce.parse_with_throttle, appending.append
    answers = itertools.count(1)

    def parsed(*asked: Any) -> Any:
        if next(answers) == 2:
            raise ConnectionLostError("new", "1", "gone")
        return parse(*asked)

    def appended(session: Any, partition: Any, *asked: Any) -> tuple[int, int, int]:
        before = partition.led.log.end
        found = append(session, partition, *asked)
        return (code, -1, -1) if code and found[0] == 0 and partition.led.log.end == before else found

    monkeypatch.setattr(writing.produce, "parse_with_throttle", parsed)
    monkeypatch.setattr(appending, "append", appended)

    async def scene(sink: Sink) -> None:
        async with open_cluster(sink.context) as cluster:
            producer = await take_over(cluster, sink.group, 60_000)
            await add_partitions(cluster, producer, [sink.place])
            writer = PartitionWriter(cluster)
            await writer.write(
                sink.place, producer, (packed().sealed(producer, RECORDS * number) for number in range(8))
            )
            await end(cluster, producer, commit=True)
            await take_over(cluster, sink.group, 60_000)  # which waits for the end's markers
        assert (writer.retries, sink.seen()) == (1, 8 * RECORDS)

    play(target, scene)


@pytest.mark.parametrize("code", [47, 48, 49, 90])
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_a_coordinator_refuses_to_a_former_owner_is_none(
    code: int, commit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id was taken over, or the transaction has timed out: what was written in it is aborted, and not there."""

    async def refuses(*_: Any) -> Any:
        return SimpleNamespace(error_code=code)

    monkeypatch.setattr(transactional, "ask_coordinator", refuses)
    owner = transactional.TransactionalProducer("id", 7, 0)
    cluster = SimpleNamespace(name="new", check=lambda *_: None)
    with pytest.raises(FencedError):
        asyncio.run(end(cast(Cluster, cluster), owner, commit=commit))


def test_what_a_broker_refuses_that_leads_no_more_is_sent_to_the_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The leader is remembered from batch to batch, until it does not take one."""
    monkeypatch.setattr(writing, "PATIENCE_S", 5.0)
    place = TopicPartition("led", 0)
    with Simulated(ClusterSpec(name="two", brokers=2), 1) as target:

        def move(one: SimulatedCluster) -> None:
            one.move_leader(one.partition("led", 0), 3 - one.partition("led", 0).leader)

        async def scene(cluster: Cluster) -> int:
            await create_topic(cluster, "led", 1, 2, {})
            await until_led(cluster, ["led"])
            owner = await take_over(cluster, "id", 60_000)
            await add_partitions(cluster, owner, [place])
            writer = PartitionWriter(cluster)
            for number in range(2):
                await writer.write(place, owner, iter([packed().sealed(owner, RECORDS * number)]))
                target.served.do(move)
            await end(cluster, owner, commit=True)
            return writer.retries

        assert on(ClusterContext("two", tuple(target.bootstrap.split(","))), scene) >= 1
        held = target.served.do(lambda one: entries(one.partition("led", 0), committed=False))
        assert len(held) == 2 * RECORDS
