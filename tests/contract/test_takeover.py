"""Two owners of one lane of old records, step by step: what goes wrong on a broker, and what a fence prevents.

Each test is one interleaving that a model of the protocol found; here a real broker does it.
"""

import pytest

from tests.contract.lab import FENCED, OUT_OF_ORDER, Log, a_producer, batch, old_ms

pytestmark = pytest.mark.test


async def test_a_stalled_owner_of_the_same_producer_repeats_old_records(log: Log) -> None:
    """One producer id for all owners: a batch that was held back lands again once the entry has expired."""
    p, old = a_producer(), old_ms()
    held_back = batch(p, 0, timestamp=old)
    assert await log.offset_of(batch(p, 0, timestamp=old)) == 0
    await log.until_expired(p)
    assert await log.offset_of(held_back) == 10
    assert [value for _, value in log.consumed()][:10] == [value for _, value in log.consumed()][10:]


async def test_a_stalled_owner_of_the_same_producer_is_harmless_with_fresh_records(log: Log) -> None:
    """While the guard stands, the batch that was held back is a repeat, and an older one is out of order."""
    p = a_producer()
    held_back = [batch(p, s) for s in (0, 50)]
    for sequence in range(0, 60, 10):
        await log.offset_of(batch(p, sequence))
    await log.until_a_check()
    assert await log.refusal_of(held_back[0]) == OUT_OF_ORDER
    assert await log.offset_of(held_back[1]) == 50


async def test_a_raised_epoch_without_a_marker_lets_the_older_owner_append_after_the_tail_was_read(log: Log) -> None:
    """The new owner reads the tail, the old one appends, and the new one's first batch repeats it."""
    p = a_producer()
    await log.offset_of(batch(p, 0))
    tail = await log.true_end()
    assert await log.offset_of(batch(p, 10)) == 10
    assert tail == 10
    assert await log.offset_of(batch(p, 0, epoch=1, text="record again")) == 20
    assert await log.true_end() == 30


async def test_an_unknown_producer_without_a_fence_lets_both_owners_append(log: Log) -> None:
    """Two fresh producer ids that read the same tail both write from there."""
    p, q = a_producer(), a_producer()
    assert await log.offset_of(batch(p, 0)) == 0
    assert await log.offset_of(batch(q, 0)) == 10


async def test_after_claim_and_fence_nothing_of_an_older_owner_lands(log: Log) -> None:
    """Fresh producer, fence, then the tail: whatever older owners held back is refused, also after expiry checks."""
    first, second, third = (a_producer() for _ in range(3))
    old = old_ms()
    assert await log.offset_of(batch(first, 0, timestamp=old)) == 0
    never_sent = batch(second, 10, timestamp=old)
    held_back = batch(first, 10, timestamp=old)
    assert [await log.mark(first), await log.mark(second)] == [0, 0]
    data = [header for header in await log.batches() if not header.is_control]
    position = data[-1].base_sequence + data[-1].count
    assert await log.offset_of(batch(third, position, timestamp=old)) == 12
    for _ in range(2):
        assert [await log.refusal_of(one) for one in (held_back, never_sent)] == [FENCED] * 2
        await log.until_a_check()
    assert [value.split()[-1] for _, value in log.consumed()[:20]] == [str(n).encode() for n in range(20)]


async def test_a_tail_that_is_read_before_the_fence_misses_a_batch(log: Log) -> None:
    """The order matters: the old owner may append between the reading and the fence."""
    first, second = a_producer(), a_producer()
    await log.offset_of(batch(first, 0))
    position = (await log.batches())[-1].base_sequence + 10
    assert await log.offset_of(batch(first, 10)) == 10
    assert await log.mark(first) == 0
    assert await log.offset_of(batch(second, position)) == 21
    assert [value.split()[-1] for _, value in log.consumed()][10:] == [
        str(n).encode() for n in [*range(10, 20), *range(10, 20)]
    ]
