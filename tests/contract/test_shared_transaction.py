"""One transaction that several connections write, with a note in it: what the exactly-once sink rests on."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.security import open_cluster
from anabranch.kafka.transactional import (
    FencedError,
    TransactionalProducer,
    add_partitions,
    commit_note,
    end,
    notes,
    take_over,
)
from anabranch.kafka.transactional_write import BatchTooLargeError, OutOfOrderError, PartitionWriter
from anabranch.model.topics import TopicPartition
from anabranch.records.header import TRANSACTIONAL
from anabranch.sandbox import SandboxCluster
from qa.brokers import create_topics
from tests.contract.lab import TIMEOUT_S, Log, batch, connect
from tests.contract.reads import consumed, until_stable
from tests.integration.kafka.security import context_of

pytestmark = pytest.mark.test
TIMEOUT_MS = 60_000
T = TypeVar("T")
_numbers = itertools.count(1)


def of(producer: TransactionalProducer, sequence: int, records: int = 10) -> bytes:
    """A transactional batch of this producer."""
    return batch(producer.producer_id, sequence, records, epoch=producer.epoch, attributes=TRANSACTIONAL)


async def test_two_connections_write_one_transaction_and_its_note_comes_with_it(log: Log) -> None:
    """Each goes on where the other ended; bytes that are sent a second time are acknowledged and not appended."""
    place, group = TopicPartition(log.topic, 0), f"sink-{log.topic}"
    producer = await take_over(log.client, group, TIMEOUT_MS)
    assert await notes(log.client, group) == {}
    first, second = PartitionWriter(log.client), PartitionWriter(connect(log.cluster))
    for number in range(2):
        await add_partitions(log.client, producer, [place])
        await add_partitions(log.client, producer, [place])
        base = 70 * number
        await first.write(place, producer, iter([of(producer, base + 10 * one) for one in range(6)]))
        await second.write(place, producer, iter([of(producer, base + 10 * one) for one in range(2, 7)]))
        await commit_note(log.client, producer, group, place, f"note {number}")
        for _ in range(2):
            await end(log.client, producer, commit=True)
        assert (await take_note(log, group)) == f"note {number}"
    await until_stable(log, 142)
    assert len(consumed(log)) == 140


async def take_note(log: Log, group: str) -> str:
    """The note of the group's one commit."""
    found = await notes(log.client, group)
    return found[TopicPartition(log.topic, 0)]


async def test_the_next_owner_aborts_what_is_open_and_the_earlier_one_is_refused_everywhere(log: Log) -> None:
    """Its records and its note are gone, and it can neither write, add, note nor end."""
    place, group = TopicPartition(log.topic, 0), f"sink-{log.topic}"
    earlier = await take_over(log.client, group, TIMEOUT_MS)
    writer = PartitionWriter(log.client)
    await add_partitions(log.client, earlier, [place])
    await writer.write(place, earlier, iter([of(earlier, 0)]))
    await commit_note(log.client, earlier, group, place, "never seen")
    later = await take_over(log.client, group, TIMEOUT_MS)
    assert await notes(log.client, group) == {}
    with pytest.raises(FencedError):
        await writer.write(place, earlier, iter([of(earlier, 10)]))
    with pytest.raises(FencedError):
        await add_partitions(log.client, earlier, [place])
    with pytest.raises(FencedError):
        await end(log.client, earlier, commit=True)
    await add_partitions(log.client, later, [place])
    await writer.write(place, later, iter([of(later, 0, 5)]))
    await end(log.client, later, commit=True)
    await until_stable(log, 17)
    assert len(consumed(log)) == 5


async def test_a_gap_and_a_record_that_is_too_large_are_told_and_nothing_is_appended(log: Log) -> None:
    """Neither is tried again."""
    place, group = TopicPartition(log.topic, 0), f"sink-{log.topic}"
    producer = await take_over(log.client, group, TIMEOUT_MS)
    writer = PartitionWriter(log.client)
    await add_partitions(log.client, producer, [place])
    await writer.write(place, producer, iter([of(producer, 0)]))
    with pytest.raises(OutOfOrderError):
        await writer.write(place, producer, iter([of(producer, 20)]))
    large = batch(producer.producer_id, 10, 1, epoch=producer.epoch, attributes=TRANSACTIONAL, text="x" * (2 << 20))
    with pytest.raises(BatchTooLargeError):
        await writer.write(place, producer, iter([large]))
    await end(log.client, producer, commit=True)
    await until_stable(log, 11)
    assert len(consumed(log)) == 10


def test_the_permissions_that_the_docs_name_are_enough(guarded: SandboxCluster) -> None:
    """WRITE on the transactional id and the topic, READ on the topic and the group: with these the whole sink works."""
    name = f"sink-{next(_numbers)}"
    create_topics(guarded, [NewTopic(name, 1, 1)])
    place = TopicPartition(name, 0)
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    admin = AdminClient(guarded.client_config())
    for kind, operation in (
        (ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE),
        (ResourceType.TOPIC, AclOperation.WRITE),
        (ResourceType.TOPIC, AclOperation.READ),
        (ResourceType.GROUP, AclOperation.READ),
    ):
        rule = AclBinding(kind, name, literal, "User:alice", "*", operation, allow)
        for made in admin.create_acls([rule]).values():
            made.result(TIMEOUT_S)

    async def go() -> None:
        async with open_cluster(context_of(guarded, "alice")) as alice:
            producer = await _allowed(lambda: take_over(alice, name, TIMEOUT_MS))
            assert await _allowed(lambda: notes(alice, name, name)) == {}
            await _allowed(lambda: add_partitions(alice, producer, [place]))
            await PartitionWriter(alice).write(place, producer, iter([of(producer, 0)]))
            await _allowed(lambda: commit_note(alice, producer, name, place, "note"))
            await end(alice, producer, commit=True)
            assert await notes(alice, name, name) == {place: "note"}

    asyncio.run(go())


async def _allowed(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer once the rules have reached the broker."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                return await ask()
            except PermissionDeniedError:
                await asyncio.sleep(0.05)
