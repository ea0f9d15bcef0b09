"""Batches are stored as they were sent, and come back as they were stored, for every codec."""

import confluent_kafka
import pytest

from anabranch.records.header import HEADER_SIZE, BatchHeader, Codec
from anabranch.records.patch import check_and_patch
from anabranch.records.split import split
from anabranch.sandbox import SandboxCluster
from tests.contract.lab import TIMEOUT_S, Log, a_producer, consume, old_ms

pytestmark = pytest.mark.test

RECORDS = 500
SET_BY_THE_BROKER = {"base_offset", "leader_epoch"}
SET_BY_THE_COPIER = {"crc", "producer_id", "producer_epoch", "base_sequence"}


@pytest.mark.topic({"compression.type": "producer"})
@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name.lower())
async def test_a_copied_batch_is_the_same_but_for_its_producer_and_place(log: Log, other: Log, codec: Codec) -> None:
    """What librdkafka wrote, patched and produced again, differs in offset, epoch, producer, sequence and CRC only."""
    produce_with_librdkafka(log.cluster, log.topic, codec)
    raw = await log.raw()
    p, position = a_producer(), 0
    wanted: list[tuple[BatchHeader, bytes]] = []
    for at, header in split(memoryview(raw)):
        one = memoryview(raw)[at : at + header.size]
        wanted.append((header, bytes(one[HEADER_SIZE:])))
        check_and_patch(one, 0, header, p, 0, position)
        assert await other.offset_of(bytes(one)) == position
        position += header.count
    assert position == RECORDS

    copied = await other.raw()
    found = [(header, bytes(copied[at + HEADER_SIZE : at + header.size])) for at, header in split(memoryview(copied))]
    assert [body for _, body in found] == [body for _, body in wanted]
    kept = set(BatchHeader._fields) - SET_BY_THE_BROKER - SET_BY_THE_COPIER
    for (before, _), (after, _) in zip(wanted, found, strict=True):
        assert {name: getattr(after, name) for name in kept} == {name: getattr(before, name) for name in kept}
        assert (after.producer_id, after.producer_epoch, after.base_sequence) == (p, 0, after.base_offset)
    assert {header.codec for header, _ in found} == {codec}
    assert records_of(other.cluster, other.topic) == records_of(log.cluster, log.topic)


@pytest.mark.topic({"compression.type": "zstd"})
async def test_a_topic_with_its_own_codec_is_written_anew(log: Log, other: Log) -> None:
    """With any compression.type but producer the broker compresses again: the records stay, the bytes do not."""
    await other.client.metadata([])
    produce_with_librdkafka(log.cluster, log.topic, Codec.LZ4)
    assert {header.codec for header in await log.batches()} == {Codec.ZSTD}
    assert len(log.consumed()) == RECORDS


def produce_with_librdkafka(cluster: SandboxCluster, topic: str, codec: Codec) -> None:
    """Records with and without key, value and headers, in batches of a hundred."""
    producer = confluent_kafka.Producer(
        cluster.client_config()
        | {"compression.type": codec.name.lower(), "batch.num.messages": 100, "linger.ms": 30_000, "acks": "all"}
    )
    for n in range(RECORDS):
        producer.produce(
            topic,
            None if n % 7 == 0 else b"value " * 20 + str(n).encode(),
            None if n % 5 == 0 else str(n % 11).encode(),
            partition=0,
            timestamp=old_ms() + n % 3,
            headers=[("twice", b"1"), ("twice", b"2"), ("empty", b""), ("null", None)] if n % 2 else None,
        )
    assert producer.flush(TIMEOUT_S) == 0


def records_of(cluster: SandboxCluster, topic: str) -> list[tuple[int, bytes]]:
    """(offset, value) as an application reads them."""
    return consume(cluster.bootstrap, topic, "read_committed")
