"""An abort marker fences a producer id at once, costs one offset that nobody sees, and lasts."""

import pytest

from tests.contract.lab import FENCED, OUT_OF_ORDER, Log, a_producer, batch, old_ms

pytestmark = pytest.mark.test

COORDINATOR_FENCED = 52
KILLED = 32767


async def test_a_killed_producer_is_refused_at_every_sequence(log: Log) -> None:
    """After the marker nothing of the producer is taken: not its next batch, not its last one again, not 0."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    assert await log.mark(p) == 0
    assert [await log.refusal_of(batch(p, s)) for s in (1010, 1000, 0, 77)] == [FENCED] * 4


async def test_a_kill_reaches_a_producer_that_was_never_seen(log: Log) -> None:
    """A marker shuts out an id that has not written yet."""
    p = a_producer()
    assert await log.mark(p) == 0
    assert [await log.refusal_of(batch(p, s)) for s in (0, 1000)] == [FENCED] * 2


async def test_a_kill_outlives_the_expiry_of_old_records(log: Log) -> None:
    """A marker carries the broker's clock: the producer of old records stays refused after the checks."""
    p, unseen, old = a_producer(), a_producer(), old_ms()
    await log.offset_of(batch(p, 1000, timestamp=old))
    assert (await log.mark(p), await log.mark(unseen)) == (0, 0)
    for _ in range(2):
        await log.until_a_check()
        assert [await log.refusal_of(batch(p, s, timestamp=old)) for s in (1010, 0)] == [FENCED] * 2
        assert await log.refusal_of(batch(unseen, 0, timestamp=old)) == FENCED


async def test_a_kill_reaches_a_producer_that_has_expired(log: Log) -> None:
    """An id that the broker forgot is fenced like one that it never saw."""
    p, old = a_producer(), old_ms()
    await log.offset_of(batch(p, 1000, timestamp=old))
    await log.until_expired(p)
    assert await log.mark(p) == 0
    assert await log.refusal_of(batch(p, 1010, timestamp=old)) == FENCED


async def test_a_marker_costs_one_offset_that_no_consumer_sees(log: Log) -> None:
    """The log is one longer, and consumers of both isolation levels read on over the gap."""
    p, q = a_producer(), a_producer()
    await log.offset_of(batch(p, 0))
    assert await log.mark(p) == 0
    assert await log.true_end() == 11
    assert await log.offset_of(batch(q, 0)) == 11
    seen = [*range(10), *range(11, 21)]
    assert [offset for offset, _ in log.consumed("read_uncommitted")] == seen
    assert [offset for offset, _ in log.consumed("read_committed")] == seen
    marker = (await log.batches(10))[0]
    assert marker.is_control and marker.count == 1
    assert (marker.producer_id, marker.producer_epoch) == (p, KILLED)


async def test_a_marker_leaves_the_sequences_of_others_alone(log: Log) -> None:
    """Another producer's repeats are recognised, its gap is refused and its next batch is taken."""
    p, q = a_producer(), a_producer()
    await log.offset_of(batch(p, 0))
    last = batch(q, 500)
    await log.offset_of(last)
    assert await log.mark(p) == 0
    assert await log.offset_of(last) == 10
    assert await log.refusal_of(batch(q, 511)) == OUT_OF_ORDER
    assert await log.offset_of(batch(q, 510)) == 21


async def test_a_repeated_marker_costs_another_offset(log: Log) -> None:
    """A marker is not conditional: sent again it is answered 0 and appended again."""
    p = a_producer()
    await log.offset_of(batch(p, 0))
    assert [await log.mark(p) for _ in range(3)] == [0, 0, 0]
    assert await log.true_end() == 13


async def test_markers_with_an_older_epoch_are_refused(log: Log) -> None:
    """Neither an older producer epoch nor an older coordinator epoch appends anything."""
    p = a_producer()
    assert await log.mark(p, epoch=5, coordinator_epoch=7) == 0
    assert await log.mark(p, epoch=5, coordinator_epoch=6) == COORDINATOR_FENCED
    assert await log.mark(p, epoch=4, coordinator_epoch=7) == FENCED
    assert await log.true_end() == 1
    assert await log.mark(p, epoch=5, coordinator_epoch=7) == 0
    assert await log.true_end() == 2


async def test_a_marker_with_a_raised_epoch_restarts_the_sequence(log: Log) -> None:
    """The old epoch is refused at once, and the new one begins at sequence 0."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    assert await log.mark(p, epoch=1) == 0
    assert await log.refusal_of(batch(p, 1010)) == FENCED
    assert await log.refusal_of(batch(p, 1010, epoch=1)) == OUT_OF_ORDER
    assert await log.offset_of(batch(p, 0, epoch=1)) == 11


async def test_a_raised_epoch_alone_fences_only_once_it_has_written(log: Log) -> None:
    """Without a marker the old epoch writes on until the new one's first batch, which must start at 0."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    assert await log.refusal_of(batch(p, 1010, epoch=1)) == OUT_OF_ORDER
    assert await log.offset_of(batch(p, 1010)) == 10
    assert await log.offset_of(batch(p, 0, epoch=1)) == 20
    assert await log.refusal_of(batch(p, 1020)) == FENCED
