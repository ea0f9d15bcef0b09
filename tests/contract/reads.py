"""One partition read twice: by the copier's fetch and ``read``, and by librdkafka's consumer; and copied to another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import confluent_kafka

from anabranch.kafka import fetch
from anabranch.kafka.partitions import LATEST, list_offset
from anabranch.protocol.joining import read_joining
from anabranch.protocol.reading import Reading, read
from anabranch.records.decode import decode
from anabranch.records.header import read_header
from anabranch.records.patch import check_and_patch
from tests.contract.lab import TIMEOUT_S, Log, a_producer

LIMIT = 1 << 20
Headers = tuple[tuple[str, bytes | None], ...]


class Seen(NamedTuple):
    """A record as a consumer sees it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass
class Copy:
    """What ``read`` made of a log: records at their source offsets, the batches to send, what was dropped."""

    position: int
    records: list[Seen] = field(default_factory=list)
    batches: list[bytearray] = field(default_factory=list)
    aborted: int = 0
    compacted: int = 0
    control: int = 0
    passed_on: int = 0

    def take(self, reading: Reading) -> None:
        """Add one answer's reading, whose bytes are the frame's."""
        assert reading.fault is None
        self.position = reading.fetch_offset
        self.aborted += reading.aborted
        self.compacted += reading.compacted
        self.control += reading.control
        for one in reading.batches:
            batch = bytearray(one.view[one.at : one.at + one.header.size])
            offsets = [offset for source, length in one.spans for offset in range(source, source + length)]
            records = decode(memoryview(batch), 0, read_header(batch))
            self.records += [
                Seen(offset, record.timestamp, record.key, record.value, record.headers)  # type: ignore[arg-type]
                for offset, record in zip(offsets, records, strict=True)
            ]
            self.batches.append(batch)
            self.passed_on += not one.owned


async def stable_end(log: Log) -> int:
    """The last stable offset."""
    answer = await list_offset(log.connection, log.topic, 0, LATEST, epoch=log.leader_epoch, isolation=1)
    assert answer.code == 0
    return answer.offset


async def until_stable(log: Log, end: int) -> None:
    """Wait until no transaction is open below ``end``: a coordinator answers before its marker is in the log."""
    async with asyncio.timeout(TIMEOUT_S):
        while await stable_end(log) < end:
            await asyncio.sleep(0.01)


async def copy_of(log: Log, position: int = 0, max_bytes: int = LIMIT, *, joins: bool = False) -> Copy:
    """Fetch from ``position`` to the last stable offset in answers of about ``max_bytes``, and read each."""
    copy, end = Copy(position), await stable_end(log)
    while copy.position < end:
        wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, log.leader_epoch, copy.position, -1, max_bytes)
        frame = await fetch.submit(log.connection, [wanted], max_wait_ms=500, max_bytes=max_bytes, isolation=1)
        try:
            code, (answer,) = fetch.parse(frame, fetch.version_for(log.connection))
            assert (code, answer.code) == (0, 0)
            before = copy.position
            copy.take((read_joining if joins else read)(answer.records, before, answer.aborted))
            assert copy.position > before
        finally:
            frame.release()
    return copy


async def append(log: Log, batches: Iterable[bytearray]) -> None:
    """Send batches as the copier does, each of which must be taken."""
    producer, sequence = a_producer(), 0
    for batch in batches:
        header = read_header(batch)
        check_and_patch(memoryview(batch), 0, header, producer, 0, sequence)
        assert await log.offset_of(bytes(batch)) == sequence
        sequence += header.count


def writer(log: Log, **settings: Any) -> confluent_kafka.Producer:
    """A producer whose batches end with each flush, and whose transactions nobody but the test ends."""
    own: dict[str, Any] = {"linger.ms": 30_000}
    if "transactional.id" in settings:
        own["transaction.timeout.ms"] = 600_000
    return confluent_kafka.Producer(log.cluster.client_config() | own | settings)


def consumed(log: Log, isolation: str = "read_committed") -> list[Seen]:
    """Every record of the partition that librdkafka's consumer sees."""
    settings = {
        "group.id": "contract",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 20,
        "isolation.level": isolation,
        "check.crcs": True,
    }
    consumer = confluent_kafka.Consumer(log.cluster.client_config() | settings)
    try:
        consumer.assign([confluent_kafka.TopicPartition(log.topic, 0, 0)])
        found = []
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"no end of the partition in {TIMEOUT_S} s"
            error = message.error()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                return found
            headers: Any = tuple(message.headers() or ())
            found.append(Seen(message.offset(), message.timestamp()[1], message.key(), message.value(), headers))
    finally:
        consumer.close()
