"""What DescribeProducers tells, and what deleting records leaves of it."""

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from anabranch.kafka.partitions import EARLIEST, list_offset
from tests.contract.lab import OUT_OF_ORDER, TIMEOUT_S, Log, a_producer, batch, now_ms, old_ms

pytestmark = pytest.mark.test


async def test_the_entry_tells_the_last_sequence(log: Log) -> None:
    """Epoch, last sequence and the newest record time of the last batch; -1 as the sequence after a marker alone."""
    p, q, at = a_producer(), a_producer(), now_ms()
    await log.offset_of(batch(p, 1000, timestamp=at))
    await log.offset_of(batch(p, 1010, timestamp=at - 5))
    entry = await log.entry(p)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence, entry.last_timestamp) == (0, 1019, at - 5)
    assert entry.transaction_start == -1
    await log.mark(q)
    killed = await log.entry(q)
    assert killed is not None
    assert (killed.epoch, killed.last_sequence) == (32767, -1)
    assert killed.last_timestamp >= at


async def test_a_kill_takes_the_last_sequence_from_the_entry(log: Log) -> None:
    """After it a position can be read from the log only, and no longer from DescribeProducers."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    await log.mark(p)
    entry = await log.entry(p)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence) == (32767, -1)


async def test_deleting_the_records_keeps_the_entry(log: Log) -> None:
    """With the log emptied by DeleteRecords a gap is still refused, and the right next batch taken."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    delete_records(log, 10)
    start = await list_offset(log.connection, log.topic, 0, EARLIEST, epoch=log.leader_epoch)
    assert (start.offset, await log.high_watermark()) == (10, 10)
    assert await log.refusal_of(batch(p, 1011)) == OUT_OF_ORDER
    assert await log.offset_of(batch(p, 1000)) == 0
    assert await log.offset_of(batch(p, 1010)) == 10


async def test_a_log_can_be_padded_to_a_start_offset(log: Log) -> None:
    """Fillers up to the offset, then DeleteRecords: the producer goes on there, as a lane's head gap needs it."""
    p = a_producer()
    for sequence in range(0, 3000, 1000):
        await log.offset_of(batch(p, sequence, 1000))
    delete_records(log, 3000)
    assert await log.offset_of(batch(p, 3000, timestamp=old_ms())) == 3000
    entry = await log.entry(p)
    assert entry is None or entry.last_sequence == 3009


def delete_records(log: Log, before: int) -> None:
    """Move the log's start, through librdkafka."""
    admin = AdminClient(log.cluster.client_config())
    for answer in admin.delete_records([TopicPartition(log.topic, 0, before)]).values():
        answer.result(TIMEOUT_S)
