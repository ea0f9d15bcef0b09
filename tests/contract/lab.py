"""What contract tests do to one partition, over the repository's own wire code, read back by librdkafka.

Facts are asserted on the answers of a broker and on what an independent consumer then sees.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping
from typing import Self

import confluent_kafka

from anabranch.kafka import fetch, produce
from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.cluster import TopicMeta
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import (
    LATEST,
    ProducerEntry,
    describe_producers,
    epoch_end,
    list_offset,
    write_marker,
)
from anabranch.kafka.produce import Produced
from anabranch.records.encode import body_of, seal
from anabranch.records.header import BatchHeader
from anabranch.records.record import Record, TimestampType
from anabranch.records.split import split
from anabranch.sandbox import SandboxCluster
from qa.timeouts import TIMEOUT_S

EXPIRY_MS = 900_000
OLD_MS = 3_600_000
OUT_OF_ORDER, FENCED = 45, 47
_producers = itertools.count((1 << 62) + 1)
_CREATE = TimestampType.CREATE_TIME


def a_producer() -> int:
    """A producer id that nobody was given and nobody used."""
    return next(_producers)


def now_ms() -> int:
    """The clock, as record timestamps have it."""
    return int(time.time() * 1000)


def old_ms() -> int:
    """A record time past which every producer entry expires at the next check."""
    return now_ms() - OLD_MS


def batch(
    producer: int,
    sequence: int,
    records: int = 10,
    *,
    epoch: int = 0,
    timestamp: int | None = None,
    text: str = "record",
    attributes: int = 0,
    claimed: int | None = None,
    deltas: list[int] | None = None,
    key: bytes | None = b"key",
) -> bytes:
    """A batch whose header may lie: ``claimed`` is its record count, ``deltas`` are the records' offsets in it."""
    at = now_ms() if timestamp is None else timestamp
    places = list(range(records)) if deltas is None else deltas
    contents = [Record(0, at, _CREATE, key, f"{text} {sequence + n}".encode()) for n in range(records)]
    return seal(
        body_of(contents, places),
        count=records if claimed is None else claimed,
        last_offset_delta=places[-1],
        timestamps=(at, at),
        attributes=attributes,
        producer=(producer, epoch, sequence),
    )


class Log:
    """One partition of a topic that lives as long as the test, and a connection to its leader."""

    def __init__(self, cluster: SandboxCluster, topic: str, configs: Mapping[str, str]) -> None:
        self.cluster = cluster
        self.topic = topic
        self.configs = {"retention.ms": "-1"} | dict(configs)
        self.client = connect(cluster)
        self.leader_epoch = -1
        self.meta: TopicMeta
        self.connection: Connection

    async def __aenter__(self) -> Self:
        await self.create()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()

    async def create(self) -> None:
        """Make the topic and connect to its leader."""
        await create_topic(self.client, self.topic, 1, 1, self.configs)
        await self.reconnect()

    async def delete(self) -> None:
        """Delete the topic and wait until the broker knows."""
        await delete_topic(self.client, self.topic)
        async with asyncio.timeout(TIMEOUT_S):
            while (await self.client.metadata([self.topic])).topics[self.topic].error != 3:
                await asyncio.sleep(0.05)

    async def reconnect(self) -> None:
        """Connect to the partition's leader once it has one, and this one answers as such."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                meta = (await self.client.metadata([self.topic])).topics[self.topic]
                part = meta.partitions.get(0)
                if meta.error == 0 and part is not None and part.leader >= 0:
                    self.meta, self.leader_epoch = meta, part.leader_epoch
                    self.connection = await self.client.connection(part.leader)
                    # Metadata runs ahead of the replica manager, which answers 3 or 6 until it has made the partition.
                    if not (await list_offset(self.connection, self.topic, 0, LATEST, epoch=part.leader_epoch)).code:
                        return
                await asyncio.sleep(0.02)

    # -- writing ---------------------------------------------------------------------------------------

    def send(self, records: bytes) -> asyncio.Future[Frame]:
        """Put a produce request on the wire; ``answer`` reads its outcome."""
        return produce.submit(self.connection, [produce.Outgoing(self.topic, self.meta.id, 0, records)])

    async def answer(self, sent: asyncio.Future[Frame]) -> Produced:
        """The outcome of ``send``."""
        frame = await sent
        try:
            return produce.parse(frame, produce.version_for(self.connection))[0]
        finally:
            frame.release()

    async def append(self, records: bytes) -> Produced:
        """Produce; the whole acknowledgement."""
        return await self.answer(self.send(records))

    async def offset_of(self, records: bytes) -> int:
        """Produce what must be accepted; the base offset of the acknowledgement."""
        answer = await self.append(records)
        assert answer.code == 0, answer
        return answer.base_offset

    async def refusal_of(self, records: bytes) -> int:
        """Produce what must change nothing; the code."""
        before = await self.true_end()
        answer = await self.append(records)
        assert await self.true_end() == before, f"appended although the answer is {answer}"
        return answer.code

    async def mark(self, producer: int, *, epoch: int = 32767, coordinator_epoch: int = 0) -> int:
        """An abort marker for a producer id: by default a kill."""
        return await write_marker(
            self.connection, self.topic, 0, producer, epoch=epoch, coordinator_epoch=coordinator_epoch
        )

    # -- asking ----------------------------------------------------------------------------------------

    async def high_watermark(self) -> int:
        """What ListOffsets(-1) answers."""
        answer = await list_offset(self.connection, self.topic, 0, LATEST, epoch=self.leader_epoch)
        assert answer.code == 0
        return answer.offset

    async def true_end(self) -> int:
        """What OffsetForLeaderEpoch answers for the current leader epoch."""
        code, _, end = await epoch_end(self.connection, self.topic, 0, self.leader_epoch, self.leader_epoch)
        assert code == 0
        return end

    async def entry(self, producer: int) -> ProducerEntry | None:
        """The broker's memory of a producer id."""
        code, entries = await describe_producers(self.connection, self.topic, 0)
        assert code == 0
        return entries.get(producer)

    async def raw(self, offset: int = 0) -> bytearray:
        """The log's bytes from the batch that holds ``offset`` to the high watermark."""
        end = await self.high_watermark()
        found = bytearray()
        while offset < end:
            wanted = fetch.PartitionFetch(self.topic, self.meta.id, 0, self.leader_epoch, offset, -1, 8 << 20)
            frame = await fetch.submit(self.connection, [wanted], max_wait_ms=500, max_bytes=8 << 20)
            try:
                code, (answer,) = fetch.parse(frame, fetch.version_for(self.connection))
                assert (code, answer.code) == (0, 0)
                batches = split(answer.records)
                for at, header in batches:
                    found += answer.records[at : at + header.size]
                    offset = header.last_offset + 1
                assert batches
            finally:
                frame.release()
        return found

    async def batches(self, offset: int = 0) -> list[BatchHeader]:
        """The headers of the log's batches."""
        return [header for _, header in split(memoryview(await self.raw(offset)))]

    async def until_expired(self, producer: int) -> None:
        """Wait until the broker has forgotten a producer id: until a check ran."""
        async with asyncio.timeout(TIMEOUT_S):
            while await self.entry(producer) is not None:
                await asyncio.sleep(0.1)

    async def until_a_check(self) -> None:
        """Wait until an expiry check ran, seen by the entry of a stranger with old records going away."""
        canary = a_producer()
        await self.offset_of(batch(canary, 0, 1, timestamp=old_ms()))
        await self.until_expired(canary)

    async def until_end(self, end: int) -> None:
        """Wait until the log's true end is there."""
        async with asyncio.timeout(TIMEOUT_S):
            while await self.true_end() != end:
                await asyncio.sleep(0.01)

    def consumed(self, isolation: str = "read_uncommitted") -> list[tuple[int, bytes]]:
        """(offset, value) of every record that librdkafka's consumer sees."""
        return consume(self.cluster.bootstrap, self.topic, isolation)


async def until_known(client: Client, topic: str) -> None:
    """Wait until the broker that is asked has read of a new topic: the controller answers before."""
    async with asyncio.timeout(TIMEOUT_S):
        while (await client.metadata([topic])).topics[topic].error:
            await asyncio.sleep(0.02)


def connect(cluster: SandboxCluster) -> Client:
    """The repository's client of a sandbox cluster without security."""
    addresses = [server.rsplit(":", 1) for server in cluster.bootstrap.split(",")]
    return Client(
        Transport(cluster.spec.name, "User:ANONYMOUS"),
        [(host, int(port)) for host, port in addresses],
    )


def consume(bootstrap: str, topic: str, isolation: str) -> list[tuple[int, bytes]]:
    """(offset, value) of every record of partition 0, by a reader that shares no code with ours."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "contract",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "isolation.level": isolation,
            "check.crcs": True,
        }
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found = []
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"no end of the partition in {TIMEOUT_S} s"
            error = message.error()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                return found
            found.append((message.offset(), message.value() or b""))
    finally:
        consumer.close()
