"""Where a log ends: the high watermark, the true end, the last stable offset, and whose epoch asks."""

import asyncio

import confluent_kafka
import pytest

from anabranch.kafka import fetch
from anabranch.kafka.partitions import EARLIEST, LATEST, epoch_end, list_offset
from tests.contract.lab import TIMEOUT_S, Log, a_producer, batch

pytestmark = pytest.mark.test

UNKNOWN_LEADER_EPOCH = 75


async def test_with_one_replica_the_true_end_is_the_high_watermark(log: Log) -> None:
    """ListOffsets(-1) and OffsetForLeaderEpoch of the current epoch agree, empty, after data and after a marker."""
    p = a_producer()
    assert (await log.high_watermark(), await log.true_end()) == (0, 0)
    await log.offset_of(batch(p, 0))
    assert (await log.high_watermark(), await log.true_end()) == (10, 10)
    await log.mark(p)
    assert (await log.high_watermark(), await log.true_end()) == (11, 11)


async def test_an_epoch_that_the_leader_does_not_know_is_refused(log: Log) -> None:
    """ListOffsets, OffsetForLeaderEpoch and Fetch with a newer leader epoch answer 75."""
    newer = log.leader_epoch + 1
    assert (await list_offset(log.connection, log.topic, 0, LATEST, epoch=newer)).code == UNKNOWN_LEADER_EPOCH
    assert (await epoch_end(log.connection, log.topic, 0, newer, newer))[0] == UNKNOWN_LEADER_EPOCH
    wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, newer, 0, -1, 1000)
    frame = await fetch.submit(log.connection, [wanted], max_wait_ms=0, max_bytes=1000)
    code, (answer,) = fetch.parse(frame, fetch.version_for(log.connection))
    frame.release()
    assert (code, answer.code) == (0, UNKNOWN_LEADER_EPOCH)


async def test_an_open_transaction_holds_the_last_stable_offset(log: Log) -> None:
    """With isolation 1 ListOffsets(-1) answers the first offset of the open transaction; Fetch names both ends."""
    await log.offset_of(batch(a_producer(), 0))
    producer = confluent_kafka.Producer(
        log.cluster.client_config() | {"transactional.id": log.topic, "transaction.timeout.ms": 600_000}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(log.topic, b"open", partition=0)
    producer.flush(TIMEOUT_S)
    stable = await list_offset(log.connection, log.topic, 0, LATEST, epoch=log.leader_epoch, isolation=1)
    assert (stable.offset, await log.high_watermark()) == (10, 11)
    producer.abort_transaction(TIMEOUT_S)
    await log.until_end(12)  # the coordinator answers before its marker is in the log
    async with asyncio.timeout(TIMEOUT_S):
        while stable.offset == 10:
            await asyncio.sleep(0.01)
            stable = await list_offset(log.connection, log.topic, 0, LATEST, epoch=log.leader_epoch, isolation=1)
    assert (stable.offset, await log.high_watermark()) == (12, 12)
    wanted = fetch.PartitionFetch(log.topic, log.meta.id, 0, log.leader_epoch, 0, -1, 1 << 20)
    frame = await fetch.submit(log.connection, [wanted], max_wait_ms=0, max_bytes=1 << 20, isolation=1)
    _, (answer,) = fetch.parse(frame, fetch.version_for(log.connection))
    frame.release()
    assert (answer.last_stable, answer.high_watermark, answer.log_start) == (12, 12, 0)
    assert [first for _, first in answer.aborted] == [10]


async def test_a_look_up_by_time_after_all_data_finds_the_marker(log: Log) -> None:
    """A marker carries the broker's clock, so it is the answer for any time after the old data before it."""
    p, old = a_producer(), 1_000_000_000_000
    await log.offset_of(batch(p, 0, timestamp=old))
    after = await list_offset(log.connection, log.topic, 0, old + 1, epoch=log.leader_epoch)
    assert after.offset == -1
    await log.mark(p)
    after = await list_offset(log.connection, log.topic, 0, old + 1, epoch=log.leader_epoch)
    assert after.offset == 10
    first = await list_offset(log.connection, log.topic, 0, EARLIEST, epoch=log.leader_epoch)
    assert (first.code, first.offset) == (0, 0)
