"""A kill without rights on the cluster: an empty transaction of the old owner's transactional id."""

import asyncio

import pytest
from kafka.protocol.producer import EndTxnRequest

from anabranch.kafka.partitions import empty_transaction, new_producer_id, transactional_producer_id
from tests.contract.lab import FENCED, TIMEOUT_S, Log, batch, old_ms

pytestmark = pytest.mark.test

PRODUCER_FENCED = 90


async def test_an_empty_transaction_shuts_out_the_owner_before(log: Log) -> None:
    """The same id and a raised epoch come back; the old epoch writes until the marker, and never after."""
    tid = f"{log.topic}.1"
    code, p, epoch = await transactional_producer_id(log.client, tid)
    assert (code, epoch) == (0, 0)
    assert await log.offset_of(batch(p, 1000, timestamp=old_ms())) == 0
    assert await transactional_producer_id(log.client, tid) == (0, p, 1)
    assert await log.offset_of(batch(p, 1010, timestamp=old_ms())) == 10
    assert await empty_transaction(log.client, tid, p, 1, log.topic, 0) == 0
    await log.until_end(21)
    assert [await log.refusal_of(batch(p, s)) for s in (1020, 1010, 0)] == [FENCED] * 3
    await log.until_a_check()
    assert await log.refusal_of(batch(p, 1020)) == FENCED


async def test_the_coordinator_refuses_the_older_epoch(log: Log) -> None:
    """The owner before can neither begin nor end a transaction."""
    tid = f"{log.topic}.1"
    _, p, _ = await transactional_producer_id(log.client, tid)
    assert await transactional_producer_id(log.client, tid) == (0, p, 1)
    assert await empty_transaction(log.client, tid, p, 0, log.topic, 0) == PRODUCER_FENCED
    assert await log.true_end() == 0


async def test_each_empty_transaction_fills_one_offset_that_no_consumer_sees(log: Log) -> None:
    """Ten in a row make the log ten longer; ending one again is answered 0 and adds nothing."""
    tid = f"{log.topic}.1"
    _, p, epoch = await transactional_producer_id(log.client, tid)
    for filled in range(1, 11):
        assert await empty_transaction(log.client, tid, p, epoch, log.topic, 0) == 0
        await log.until_end(filled)
    node = await log.client.coordinator(tid, 1)
    again = EndTxnRequest(transactional_id=tid, producer_id=p, producer_epoch=epoch, committed=False)
    async with asyncio.timeout(TIMEOUT_S):
        # 51: the marker is in the log, and the coordinator has not noted that yet.
        while (repeated := (await log.client.call(again, node, cap=3)).error_code) == 51:
            await asyncio.sleep(0.05)
    assert repeated == 0
    code, same, raised = await transactional_producer_id(log.client, tid)
    assert (code, same, raised) == (0, p, epoch + 1)
    assert await log.true_end() == 10
    assert log.consumed("read_uncommitted") == log.consumed("read_committed") == []


async def test_producer_ids_given_out_differ(log: Log) -> None:
    """InitProducerId without a transactional id never gives an id twice, and far below the ones made up here."""
    given = [await new_producer_id(log.client) for _ in range(20)]
    assert len(set(given)) == 20
    assert max(given) < 1 << 62
