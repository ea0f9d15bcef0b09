"""Consumer groups as coordinators list, describe and keep them; members are librdkafka's."""

import asyncio
import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import confluent_kafka
import pytest
from kafka.protocol.consumer import JoinGroupRequest, SyncGroupRequest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.groups import (
    GroupActiveError,
    IllegalGroupNameError,
    MetadataTooLargeError,
    PartitionsRefusedError,
    UnstableCommitsError,
    commit,
    committed,
    delete_group,
    delete_offsets,
    describe,
    list_groups,
    offsets,
)
from anabranch.kafka.groups.coordinators import AGAIN
from anabranch.model.groups import Commit, GroupKind, GroupState
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import SandboxCluster
from qa.brokers import retry
from tests.contract.lab import TIMEOUT_S, Log, a_producer, batch, until_known

pytestmark = pytest.mark.test

UNKNOWN_TOPIC_OR_PARTITION, METADATA_TOO_LARGE = 3, 12
_numbers = itertools.count(1)


def a_group() -> str:
    """A name that no group has."""
    return f"group-{next(_numbers)}"


@contextmanager
def member(cluster: SandboxCluster, group: str, topic: str, **config: object) -> Iterator[confluent_kafka.Consumer]:
    """A consumer that has its partitions."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + TIMEOUT_S
        while not consumer.assignment():
            assert time.monotonic() < deadline, "nothing was assigned"
            consumer.poll(0.1)
        yield consumer
    finally:
        consumer.close()


def store(consumer: confluent_kafka.Consumer, position: confluent_kafka.TopicPartition) -> None:
    """Commit as a member, again while its epoch or its group's coordinator is just changing."""
    (done,) = retry(lambda: consumer.commit(offsets=[position], asynchronous=False))
    assert done.error is None, done


def first_read(cluster: SandboxCluster, group: str, topic: str, protocol: str) -> int:
    """The offset of the first record that a new member of a group is given."""
    config = {"group.id": group, "group.protocol": protocol, "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, **config})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(TIMEOUT_S)
        assert message is not None and message.error() is None
        return int(message.offset())
    finally:
        consumer.close()


def protocols(version: tuple[int, ...]) -> tuple[str, ...]:
    """The group protocols that brokers have: KIP-848 is on from 4.0."""
    return ("classic", "consumer") if version >= (4, 0) else ("classic",)


async def test_a_group_with_a_member_is_listed_described_and_not_moved(
    cluster: SandboxCluster, version: tuple[int, ...], log: Log
) -> None:
    """Kind, state and members are told for both protocols, and a commit or deletion from outside is refused."""
    await log.offset_of(batch(a_producer(), 0))
    for protocol in protocols(version):
        name = a_group()
        with member(cluster, name, log.topic, **{"group.protocol": protocol, "client.id": "reader"}) as consumer:
            store(consumer, confluent_kafka.TopicPartition(log.topic, 0, 3, metadata="noted"))
            await until(log, name, GroupState.STABLE)
            listed = {one.name: one for one in await list_groups(log.client)}[name]
            assert (listed.kind, listed.state) == (GroupKind(protocol), GroupState.STABLE)
            group = (await describe(log.client, [name]))[name]
            assert (group.kind, group.state, len(group.members)) == (GroupKind(protocol), GroupState.STABLE, 1)
            assert group.members[0].client_id == "reader"
            at = TopicPartition(log.topic, 0)
            with pytest.raises(GroupActiveError):
                await commit(log.client, name, {at: Commit(5)})
            with pytest.raises(GroupActiveError):
                await delete_offsets(log.client, name, [at])
            with pytest.raises(GroupActiveError):
                await delete_group(log.client, name)
            found = (await committed(log.client, [name]))[name][at]
            # confluent-kafka sends its string with the zero byte that ends it in C; all of it is the application's.
            assert (found.offset, found.metadata) == (3, "noted\0")
        await until(log, name, GroupState.EMPTY)


async def until(log: Log, name: str, state: GroupState) -> None:
    """Wait for a group's state: a consumer that leaves does not wait for long until its coordinator knows."""
    async with asyncio.timeout(TIMEOUT_S):
        while (await describe(log.client, [name]))[name].state is not state:
            await asyncio.sleep(0.1)


async def test_a_group_that_its_consumers_left_is_moved_and_they_read_on_from_there(
    cluster: SandboxCluster, version: tuple[int, ...], log: Log
) -> None:
    """An empty group takes a commit from outside; its kind stays; the next member begins there."""
    await log.offset_of(batch(a_producer(), 0))
    for protocol in protocols(version):
        name, at = a_group(), TopicPartition(log.topic, 0)
        with member(cluster, name, log.topic, **{"group.protocol": protocol}) as consumer:
            store(consumer, confluent_kafka.TopicPartition(log.topic, 0, 3))
        await until(log, name, GroupState.EMPTY)
        await commit(log.client, name, {at: Commit(7, "kept", leader_epoch=99)})
        assert (await committed(log.client, [name]))[name] == {at: Commit(7, "kept", -1)}
        listed = {one.name: one for one in await list_groups(log.client)}[name]
        assert (listed.kind, listed.state) == (GroupKind(protocol), GroupState.EMPTY)
        assert first_read(cluster, name, log.topic, protocol) == 7


async def test_a_commit_makes_a_group_that_is_not_there(log: Log) -> None:
    """It is a simple group: empty, and of no protocol."""
    await log.offset_of(batch(a_producer(), 0))
    name, at = a_group(), TopicPartition(log.topic, 0)
    assert (await describe(log.client, [name]))[name].state is GroupState.DEAD
    assert await committed(log.client, [name]) == {name: {}}
    assert not await delete_group(log.client, name)
    await commit(log.client, name, {at: Commit(4)})
    listed = {one.name: one for one in await list_groups(log.client)}[name]
    assert (listed.kind, listed.state, listed.protocol) == (GroupKind.SIMPLE, GroupState.EMPTY, "")
    assert (await describe(log.client, [name]))[name].kind is GroupKind.SIMPLE
    await delete_offsets(log.client, name, [at])
    assert await committed(log.client, [name]) == {name: {}}
    await commit(log.client, name, {at: Commit(4)})
    assert await delete_group(log.client, name)
    assert (await describe(log.client, [name]))[name].state is GroupState.DEAD


async def test_a_commit_request_is_not_all_or_nothing(log: Log) -> None:
    """A partition that does not exist is refused, and the others of the request are committed all the same."""
    name = a_group()
    good, gone = TopicPartition(log.topic, 0), TopicPartition("no-such-topic", 0)
    beyond = TopicPartition(log.topic, 7)
    with pytest.raises(PartitionsRefusedError) as raised:
        await commit(log.client, name, {gone: Commit(1), good: Commit(2), beyond: Commit(3)})
    assert dict(raised.value.refused) == {gone: UNKNOWN_TOPIC_OR_PARTITION, beyond: UNKNOWN_TOPIC_OR_PARTITION}
    assert raised.value.done == (good,)
    assert (await committed(log.client, [name]))[name] == {good: Commit(2)}
    with pytest.raises(PartitionsRefusedError) as raised:
        await delete_offsets(log.client, name, [gone, good])
    assert raised.value.done == (good,)
    assert (await committed(log.client, [name]))[name] == {}


async def test_metadata_that_is_too_large_refuses_its_partition_only(log: Log) -> None:
    """4,096 bytes is a broker's default limit (offset.metadata.max.bytes); 4,096 are kept, one more are refused."""
    other = f"{log.topic}-other"
    await create_topic(log.client, other, 1, 1, {})
    name, at, kept = a_group(), TopicPartition(log.topic, 0), TopicPartition(other, 0)
    await until_known(log.client, other)
    with pytest.raises(MetadataTooLargeError) as raised:
        await commit(log.client, name, {at: Commit(1, "x" * 4097), kept: Commit(2, "y" * 4096)})
    assert raised.value.done == (kept,)
    assert (await committed(log.client, [name]))[name] == {kept: Commit(2, "y" * 4096)}


async def test_a_commit_past_the_end_of_the_log_is_taken(log: Log) -> None:
    """Coordinators do not look at logs: that a position exists is for the one who commits to know."""
    name, at = a_group(), TopicPartition(log.topic, 0)
    await commit(log.client, name, {at: Commit(1 << 40)})
    assert (await committed(log.client, [name]))[name] == {at: Commit(1 << 40)}


def _send_offsets(producer: confluent_kafka.Producer, topic: str, name: str, offset: int) -> None:
    at = [confluent_kafka.TopicPartition(topic, 0, offset)]
    producer.send_offsets_to_transaction(at, _metadata_of(name), TIMEOUT_S)


def _metadata_of(name: str) -> object:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": name})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


async def test_commits_in_an_open_transaction_are_waited_for(
    cluster: SandboxCluster, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pending commit raises with the other groups' commits; asked for by name, even a group's very first one.

    Asked for all partitions, a broker says nothing of a pending commit where no older one exists.
    """
    await log.offset_of(batch(a_producer(), 0))
    pending, first, calm = a_group(), a_group(), a_group()
    at = TopicPartition(log.topic, 0)
    await commit(log.client, pending, {at: Commit(1)})
    await commit(log.client, calm, {at: Commit(2)})
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": f"{log.topic}-transaction",
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    _send_offsets(producer, log.topic, pending, 5)
    _send_offsets(producer, log.topic, first, 5)
    with pytest.raises(UnstableCommitsError) as raised:
        await committed(log.client, [pending, calm], timeout=0.5)
    assert dict(raised.value.pending) == {pending: (at,)}
    assert raised.value.read == {calm: {at: Commit(2)}}
    assert await committed(log.client, [first], timeout=0.5) == {first: {}}
    with pytest.raises(UnstableCommitsError):
        await committed(log.client, [first], partitions=[at], timeout=0.5)
    looked = asyncio.Event()

    async def pause(seconds: float) -> None:
        looked.set()
        await asyncio.sleep(seconds)

    monkeypatch.setattr(offsets, "asyncio", SimpleNamespace(sleep=pause))
    reading = asyncio.create_task(committed(log.client, [pending, first], partitions=[at], timeout=TIMEOUT_S))
    async with asyncio.timeout(TIMEOUT_S):
        await looked.wait()  # it has met the open transaction, and will look again
    await asyncio.to_thread(producer.commit_transaction, TIMEOUT_S)
    assert {name: found[at].offset for name, found in (await reading).items()} == {pending: 5, first: 5}


async def test_many_groups_are_read_in_a_few_requests(log: Log) -> None:
    """Hundreds of groups come with all their commits, each group's own."""
    name, at = a_group(), TopicPartition(log.topic, 0)
    names = [f"{name}-of-many-{number}" for number in range(250)]
    await asyncio.gather(*(commit(log.client, one, {at: Commit(number)}) for number, one in enumerate(names)))
    found = await committed(log.client, names)
    assert [found[one][at].offset for one in names] == list(range(250))
    assert {(await describe(log.client, names))[one].state for one in names[:1]} == {GroupState.EMPTY}


async def _join(log: Log, name: str, protocol_type: str, protocol: str) -> None:
    """Become the only member of a classic group, of any protocol; the session lives for two minutes."""
    offered = JoinGroupRequest.JoinGroupRequestProtocol(name=protocol, metadata=b"")
    join = JoinGroupRequest(
        group_id=name,
        session_timeout_ms=120_000,
        rebalance_timeout_ms=120_000,  # who does not sync for so long is put out
        member_id="",
        protocol_type=protocol_type,
        protocols=[offered],
    )
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            node = await log.client.coordinator(name, 0)
            joined = await log.client.call(join, node, cap=3)  # from v4 on a member must join twice
            if joined.error_code not in AGAIN:
                break
            log.client.forget_coordinator(name, 0)
            await asyncio.sleep(0.1)
    assert joined.error_code == 0
    mine = SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")
    sync = SyncGroupRequest(
        group_id=name, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[mine]
    )
    assert (await log.client.call(sync, node, cap=3)).error_code == 0


async def test_connect_schema_and_streams_groups_are_told_apart(log: Log) -> None:
    """By the protocol of a classic group; Streams' is a consumer's, and its assignor tells."""
    name = a_group()
    words = {
        GroupKind.CONNECT: ("connect", "sessioned"),
        GroupKind.SCHEMAS: ("sr", "v0"),
        GroupKind.STREAMS: ("consumer", "stream"),
        GroupKind.CLASSIC: ("consumer", "range"),
    }
    for kind, (protocol_type, protocol) in words.items():
        await _join(log, f"{name}-{kind}", protocol_type, protocol)
    listed = {one.name: one.kind for one in await list_groups(log.client)}
    described = await describe(log.client, [f"{name}-{kind}" for kind in words])
    for kind in words:
        assert (listed[f"{name}-{kind}"], described[f"{name}-{kind}"].kind) == (kind, kind)


async def test_a_sleeping_streams_application_is_listed_as_one(log: Log) -> None:
    """An empty group whose changelog topic exists, although the group itself tells nothing any more."""
    name = a_group()
    await create_topic(log.client, f"{name}-counts-changelog", 1, 1, {})
    await until_known(log.client, f"{name}-counts-changelog")
    await commit(log.client, name, {TopicPartition(log.topic, 0): Commit(1)})
    assert {one.name: one.kind for one in await list_groups(log.client)}[name] is GroupKind.STREAMS


async def test_the_empty_name_is_no_groups_here(log: Log) -> None:
    """Brokers take commits for it; whoever moves groups asks first, and is refused."""
    await commit(log.client, "", {TopicPartition(log.topic, 0): Commit(0)})
    with pytest.raises(IllegalGroupNameError):
        await describe(log.client, [""])
