"""Two brokers: where the true end and the high watermark part, who answers what, and what a new leader knows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewTopic

from anabranch.kafka import fetch, produce
from anabranch.kafka.connection import Connection
from anabranch.kafka.partitions import LATEST, describe_producers, epoch_end, list_offset, write_marker
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import create_topics
from tests.contract.conftest import EVERY, running
from tests.contract.lab import EXPIRY_MS, FENCED, OUT_OF_ORDER, TIMEOUT_S, Log, a_producer, batch, old_ms

pytestmark = pytest.mark.test

UNKNOWN_PARTITION, NOT_LEADER = 3, 6
LEADER, FOLLOWER = 2, 1


@pytest.fixture(
    scope="module",
    params=[pytest.param("3.9.1", marks=pytest.mark.full) if one.values == ("3.9.1",) else one for one in EVERY],
)
def pair(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """Two brokers; the first is the controller and follows, the second leads what these tests write to."""
    version, _, simulated = request.param.partition("-")
    spec = ClusterSpec(
        name=f"pair-{version.replace('.', '-')}",
        version=version,
        brokers=2,
        overrides={
            "producer.id.expiration.ms": str(EXPIRY_MS),
            "producer.id.expiration.check.interval.ms": "1000",
            "min.insync.replicas": "1",
            # The follower that is stopped must not fall out of the replicas in sync, nor, as it is the controller, take
            # the leader for dead when it goes on; nobody but the test stops a simulated one.
            "replica.lag.time.max.ms": "60000",
            "broker.session.timeout.ms": "3000" if simulated else "18000",
        },
    )
    with running(spec, simulated=bool(simulated)) as found:
        yield found


class ReplicatedLog(Log):
    """A partition on both brokers (or, ``alone``, on the leader only), led by the second."""

    alone = False

    async def create(self) -> None:
        """Make the topic with its replicas in order and connect to the leader."""
        replicas = [LEADER] if self.alone else [LEADER, FOLLOWER]
        topic = NewTopic(self.topic, num_partitions=1, replica_assignment=[replicas], config=self.configs)
        await asyncio.to_thread(create_topics, self.cluster, [topic])
        await self.reconnect()
        async with asyncio.timeout(TIMEOUT_S):
            while len((await self.client.partition(self.topic, 0))[1].isr) < len(replicas):
                await asyncio.sleep(0.05)

    async def follower(self) -> Connection:
        """A connection to the broker that does not lead."""
        return await self.client.connection(FOLLOWER)


async def test_the_true_end_runs_ahead_of_what_list_offsets_answers(pair: SandboxCluster) -> None:
    """An append that a stopped follower has not got: the high watermark stands, the true end and the entry do not."""
    async with ReplicatedLog(pair, "ahead", {}) as log:
        p = a_producer()
        await log.offset_of(batch(p, 0))
        paused = next(broker for broker in pair.brokers if broker.node_id == FOLLOWER)
        paused.pause()
        try:
            sent = log.send(batch(p, 10))
            # A broker serves a connection one request at a time, so a question behind the append waits for it.
            log.connection = await log.client.connection(LEADER, "questions")
            await log.until_end(20)
            assert await log.high_watermark() == 10
            entry = await log.entry(p)
            assert entry is not None
            assert entry.last_sequence == 19
            assert not sent.done()
        finally:
            paused.resume()
        answer = await log.answer(sent)
        assert (answer.code, answer.base_offset) == (0, 10)
        assert (await log.high_watermark(), await log.true_end()) == (20, 20)


async def test_a_follower_refuses_writes_and_ends_and_answers_reads(pair: SandboxCluster) -> None:
    """Writes, ListOffsets and OffsetForLeaderEpoch: 6. Fetch and DescribeProducers: 0, so they prove nothing."""
    async with ReplicatedLog(pair, "asked-of-a-follower", {}) as log:
        p = a_producer()
        await log.offset_of(batch(p, 0))
        connection, epoch = await log.follower(), log.leader_epoch
        frame = await produce.submit(connection, [produce.Outgoing(log.topic, log.meta.id, 0, batch(p, 10))])
        assert [one.code for one in produce.parse(frame, produce.version_for(connection))] == [NOT_LEADER]
        frame.release()
        assert await write_marker(connection, log.topic, 0, p) == NOT_LEADER
        assert (await list_offset(connection, log.topic, 0, LATEST, epoch=epoch)).code == NOT_LEADER
        assert (await epoch_end(connection, log.topic, 0, epoch, epoch))[0] == NOT_LEADER
        wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, epoch, 0, -1, 1 << 20)
        frame = await fetch.submit(connection, [wanted], max_wait_ms=500, max_bytes=1 << 20)
        code, (answer,) = fetch.parse(frame, fetch.version_for(connection))
        frame.release()
        assert (code, answer.code) == (0, 0)
        code, entries = await describe_producers(connection, log.topic, 0)
        assert (code, entries[p].last_sequence) == (0, 9)
        assert await log.true_end() == 10


async def test_a_marker_for_a_partition_that_is_not_there_is_refused(pair: SandboxCluster) -> None:
    """A broker without a replica answers as for a partition that does not exist."""
    only_leader = ReplicatedLog(pair, "not-hosted", {})
    only_leader.alone = True
    async with only_leader as log:
        assert await write_marker(await log.follower(), log.topic, 0, 1) == UNKNOWN_PARTITION
        assert await write_marker(log.connection, log.topic, 7, 1) == UNKNOWN_PARTITION


async def test_a_new_leader_knows_kills_and_sequences(pair: SandboxCluster) -> None:
    """After kill -9 of the leader the follower leads: killed ids stay refused, fresh repeats and gaps are told."""
    async with ReplicatedLog(pair, "new-leader", {}) as log:
        p, killed, unseen = a_producer(), a_producer(), a_producer()
        sent = [batch(p, s) for s in range(0, 60, 10)]
        for one in sent:
            await log.offset_of(one)
        await log.offset_of(batch(killed, 0, timestamp=old_ms()))
        assert (await log.mark(killed), await log.mark(unseen)) == (0, 0)
        before = log.leader_epoch
        leader = next(broker for broker in pair.brokers if broker.node_id == LEADER)
        await asyncio.to_thread(leader.kill)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while True:
                    part = (await log.client.metadata([log.topic])).topics[log.topic].partitions[0]
                    if part.leader == FOLLOWER:
                        break
                    await asyncio.sleep(0.1)
            await log.reconnect()
            assert log.leader_epoch > before
            assert await log.true_end() == 72
            assert [await log.refusal_of(batch(killed, s)) for s in (10, 0)] == [FENCED] * 2
            assert await log.refusal_of(batch(unseen, 0)) == FENCED
            assert [await log.offset_of(one) for one in sent[-5:]] == [10, 20, 30, 40, 50]
            assert await log.refusal_of(batch(p, 61)) == OUT_OF_ORDER
            assert await log.offset_of(batch(p, 60)) == 72
        finally:
            await asyncio.to_thread(leader.start)
            await asyncio.to_thread(pair.wait_ready)
