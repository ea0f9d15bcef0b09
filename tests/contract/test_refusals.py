"""What a broker refuses in a client's batch, so that a copier must take it off, write it again or stop."""

import asyncio

import pytest

from anabranch.records.encode import seal
from anabranch.records.header import CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Codec
from tests.contract.lab import Log, a_producer, batch, now_ms, old_ms

pytestmark = pytest.mark.test

UNKNOWN_SERVER_ERROR, CORRUPT, TOO_LARGE, BAD_TIMESTAMP, NOT_AUTHORIZED, INVALID_RECORD = -1, 2, 10, 32, 53, 87
HOUR_MS = 3_600_000
# More than a machine may stand still between a look at the clock and the broker's.
MARGIN_MS = 600_000


async def test_sparse_offsets_are_refused(log: Log) -> None:
    """A gap in the deltas, deltas that do not start at 0, and a count that is not the last delta plus one."""
    p = a_producer()
    assert await log.refusal_of(batch(p, 0, 3, deltas=[0, 1, 3])) == INVALID_RECORD
    assert await log.refusal_of(batch(p, 0, 3, deltas=[1, 2, 3])) == INVALID_RECORD
    assert await log.refusal_of(batch(p, 0, 3, deltas=[0, 1, 3], claimed=4)) == INVALID_RECORD
    assert await log.offset_of(batch(p, 0, 3)) == 0


async def test_offsets_inside_a_batch_are_checked_only_where_it_is_compressed(log: Log) -> None:
    """Deltas that the header cannot betray are refused in a compressed batch and stored in a plain one."""
    p = a_producer()
    assert await log.refusal_of(batch(p, 0, 3, deltas=[0, 2, 2], attributes=Codec.ZSTD)) == UNKNOWN_SERVER_ERROR
    assert await log.offset_of(batch(p, 0, 3, deltas=[0, 2, 2])) == 0
    assert [offset for offset, _ in log.consumed()] == [0, 2, 2]


async def test_control_batches_are_refused(log: Log) -> None:
    """Only a broker writes a control batch."""
    assert await log.refusal_of(batch(a_producer(), 0, 1, attributes=CONTROL)) == INVALID_RECORD
    assert await log.refusal_of(batch(a_producer(), 0, 1, attributes=CONTROL | TRANSACTIONAL)) == NOT_AUTHORIZED


async def test_a_transactional_batch_outside_a_transaction_is_refused(log: Log) -> None:
    """The transactional bit of a copied batch must be cleared for a request without a transactional id."""
    assert await log.refusal_of(batch(a_producer(), 0, 1, attributes=TRANSACTIONAL)) == NOT_AUTHORIZED


async def test_a_partition_takes_one_batch_a_request(log: Log) -> None:
    """Two batches one behind the other are refused whole."""
    p = a_producer()
    assert await log.refusal_of(batch(p, 0) + batch(p, 10)) == INVALID_RECORD
    assert await log.offset_of(batch(p, 0)) == 0


async def test_a_broken_checksum_is_refused(log: Log) -> None:
    """One flipped bit in the records is found before anything is appended."""
    broken = bytearray(batch(a_producer(), 0))
    broken[-2] ^= 1
    assert await log.refusal_of(bytes(broken)) == CORRUPT


@pytest.mark.topic({"max.message.bytes": "2000"})
async def test_a_batch_over_the_topics_limit_is_refused(log: Log) -> None:
    """max.message.bytes counts the whole batch as sent; exactly that many bytes are taken."""
    p = a_producer()
    over = len(batch(p, 0, 1, text="x" * 1900))
    fitting = batch(p, 0, 1, text="x" * (1900 + 2000 - over))
    assert len(fitting) == 2000
    assert await log.refusal_of(batch(p, 0, 1, text="x" * (1901 + 2000 - over))) == TOO_LARGE
    assert await log.offset_of(fitting) == 0


@pytest.mark.topic({"message.timestamp.before.max.ms": str(HOUR_MS), "message.timestamp.after.max.ms": str(HOUR_MS)})
async def test_timestamps_outside_the_topics_limits_are_refused(log: Log) -> None:
    """Both limits count from the broker's clock."""
    p = a_producer()
    assert await log.refusal_of(batch(p, 0, timestamp=now_ms() - HOUR_MS - MARGIN_MS)) == BAD_TIMESTAMP
    assert await log.refusal_of(batch(p, 0, timestamp=now_ms() + HOUR_MS + MARGIN_MS)) == BAD_TIMESTAMP
    assert await log.offset_of(batch(p, 0, timestamp=now_ms() - HOUR_MS + MARGIN_MS)) == 0


async def test_records_from_the_future_are_taken_by_default_before_4_0_only(log: Log, version: tuple[int, ...]) -> None:
    """The default of message.timestamp.after.max.ms fell from no limit to an hour; the past has no limit."""
    answer = await log.append(batch(a_producer(), 0, timestamp=now_ms() + 2 * HOUR_MS))
    assert answer.code == (BAD_TIMESTAMP if version >= (4, 0) else 0)
    assert (await log.append(batch(a_producer(), 0, timestamp=1_000))).code == 0


@pytest.mark.topic({"cleanup.policy": "compact"})
async def test_a_compacted_topic_refuses_records_without_a_key(log: Log) -> None:
    """A topic that only compacts takes keyed records and no others."""
    p = a_producer()
    assert await log.refusal_of(batch(p, 0, key=None)) == INVALID_RECORD
    assert await log.offset_of(batch(p, 0)) == 0


async def test_the_log_append_time_bit_is_silently_cleared(log: Log) -> None:
    """In a topic of CreateTime the bit goes and the records' deltas count again: their times must be written out."""
    at = old_ms()
    await log.offset_of(batch(a_producer(), 0, timestamp=at, attributes=LOG_APPEND_TIME))
    (stored,) = await log.batches()
    assert (stored.attributes, stored.base_timestamp, stored.max_timestamp) == (0, at, at)


async def test_unused_attribute_bits_are_stored_as_sent(log: Log) -> None:
    """Bit 6 (delete horizon), 9 and 14 come back from the log: a copied horizon must be cleared by the copier."""
    p = a_producer()
    bits = (DELETE_HORIZON, 1 << 9, 1 << 14)
    for at, bit in enumerate(bits):
        await log.offset_of(batch(p, at * 10, attributes=bit))
    assert [header.attributes for header in await log.batches()] == list(bits)


async def test_an_empty_batch_is_refused(log: Log) -> None:
    """A batch without records, as compaction leaves one behind, cannot be produced."""
    hollow = seal(
        b"", count=1, last_offset_delta=0, timestamps=(now_ms(), now_ms()), attributes=0, producer=(a_producer(), 0, 0)
    )
    assert len(hollow) == 61
    assert await log.refusal_of(hollow) == INVALID_RECORD


async def test_a_refusal_does_not_move_the_sequence(log: Log) -> None:
    """After any refusal the producer's next batch is the one that it would have been."""
    p = a_producer()
    await log.offset_of(batch(p, 0))
    broken = bytearray(batch(p, 10))
    broken[-2] ^= 1
    assert await log.refusal_of(bytes(broken)) == CORRUPT
    assert await log.refusal_of(batch(p, 10, attributes=CONTROL)) == INVALID_RECORD
    assert await asyncio.gather(log.offset_of(batch(p, 10))) == [10]
