"""A sequence makes an append conditional: the broker takes the next batch of a producer and no other."""

import pytest

from anabranch.records.sequence import MODULUS
from tests.contract.lab import OUT_OF_ORDER, Log, a_producer, batch

pytestmark = pytest.mark.test


async def test_the_first_batch_of_an_unknown_producer_may_start_anywhere(log: Log) -> None:
    """An id that was never given out starts at any sequence, and its next batches continue from there."""
    p = a_producer()
    assert [await log.offset_of(batch(p, s)) for s in (1000, 1010, 1020)] == [0, 10, 20]


async def test_the_last_five_batches_are_recognised_and_not_appended_again(log: Log) -> None:
    """A batch that is sent again is answered 0 with the offset that it has, up to five batches back."""
    p = a_producer()
    sent = [batch(p, s) for s in range(1000, 1070, 10)]
    assert [await log.offset_of(one) for one in sent] == [0, 10, 20, 30, 40, 50, 60]
    assert [await log.offset_of(one) for one in sent[-5:]] == [20, 30, 40, 50, 60]
    assert await log.offset_of(sent[-1]) == 60
    assert await log.true_end() == 70


async def test_a_batch_older_than_the_last_five_is_out_of_order(log: Log) -> None:
    """What the broker no longer recognises is refused, although it is in the log."""
    p = a_producer()
    sent = [batch(p, s) for s in range(1000, 1070, 10)]
    for one in sent:
        await log.offset_of(one)
    assert [await log.refusal_of(one) for one in sent[:2]] == [OUT_OF_ORDER, OUT_OF_ORDER]


async def test_overlaps_and_gaps_are_refused_and_leave_no_trace(log: Log) -> None:
    """After a batch that overlaps the last one's end and one that leaves a gap, the right next one is taken."""
    p = a_producer()
    await log.offset_of(batch(p, 1000))
    assert await log.refusal_of(batch(p, 1005)) == OUT_OF_ORDER
    assert await log.refusal_of(batch(p, 1011)) == OUT_OF_ORDER
    assert await log.refusal_of(batch(p, 0)) == OUT_OF_ORDER
    assert await log.offset_of(batch(p, 1010)) == 10


async def test_sequences_wrap_to_zero(log: Log) -> None:
    """2^31 - 1 is followed by 0 inside a batch; repeats are recognised across the wrap, gaps refused."""
    p = a_producer()
    across, after = batch(p, MODULUS - 5), batch(p, 5)
    assert [await log.offset_of(across), await log.offset_of(after)] == [0, 10]
    assert [await log.offset_of(across), await log.offset_of(after)] == [0, 10]
    assert await log.refusal_of(batch(p, 16)) == OUT_OF_ORDER
    assert await log.true_end() == 20


async def test_repeats_are_recognised_by_sequence_and_not_by_content(log: Log) -> None:
    """Other records under the same first and last sequence are answered 0 and silently not appended."""
    p = a_producer()
    await log.offset_of(batch(p, 1000, text="first"))
    assert await log.offset_of(batch(p, 1000, text="other")) == 0
    assert await log.true_end() == 10
    assert {value.split()[0] for _, value in log.consumed()} == {b"first"}


async def test_producers_do_not_see_each_other(log: Log) -> None:
    """Sequences are counted for each producer id alone."""
    p, q = a_producer(), a_producer()
    assert await log.offset_of(batch(p, 1000)) == 0
    assert await log.offset_of(batch(q, 7)) == 10
    assert await log.offset_of(batch(p, 1010)) == 20
    assert await log.refusal_of(batch(q, 1020)) == OUT_OF_ORDER


async def test_five_requests_in_flight_are_appended_in_order(log: Log) -> None:
    """Requests of one connection take effect in the order of their bytes, so a pipeline keeps the sequence."""
    p = a_producer()
    sent = [log.send(batch(p, s)) for s in range(0, 200, 10)]
    answers = [await log.answer(one) for one in sent]
    assert [(answer.code, answer.base_offset) for answer in answers] == [(0, at) for at in range(0, 200, 10)]
    assert [offset for offset, _ in log.consumed()] == list(range(200))


async def test_a_pipeline_stops_at_its_first_refusal(log: Log) -> None:
    """Once a batch of a pipeline is refused, everything behind it is too: nothing lands past the gap."""
    p = a_producer()
    sent = [log.send(batch(p, s)) for s in (0, 20, 30, 40)]
    assert [(await log.answer(one)).code for one in sent] == [0, OUT_OF_ORDER, OUT_OF_ORDER, OUT_OF_ORDER]
    assert await log.true_end() == 10
