"""The guard expires by record time: a producer is forgotten once its last batch's records are old enough."""

import asyncio
from collections.abc import Collection
from itertools import combinations

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from anabranch.sandbox import SandboxCluster
from tests.contract.lab import EXPIRY_MS, OUT_OF_ORDER, TIMEOUT_S, Log, a_producer, batch, now_ms, old_ms

pytestmark = pytest.mark.test


async def test_old_records_lose_the_guard_at_the_next_check(log: Log) -> None:
    """An active producer of old records is forgotten: its last batch is appended again, and a gap is taken."""
    p, old = a_producer(), old_ms()
    last = batch(p, 1000, timestamp=old)
    assert await log.offset_of(last) == 0
    await log.until_expired(p)
    assert await log.offset_of(last) == 10
    await log.until_expired(p)
    assert await log.offset_of(batch(p, 5000, timestamp=old)) == 20


SEQUENCES = (0, 0, 20, 10)
"""First sequences of batches of ten records: the first, its repeat, one past a gap, and the next in order."""


def answered(forgotten: Collection[int]) -> list[int]:
    """What a broker answers to these batches, as offsets and negative codes, if it forgets before some of them."""
    end, known, answers = 0, dict[int, int](), list[int]()
    for number, sequence in enumerate(SEQUENCES):
        if number in forgotten:
            known.clear()
        if sequence in known:
            answers.append(known[sequence])
        elif known and sequence != max(known) + 10:
            answers.append(-OUT_OF_ORDER)
        else:
            known[sequence] = end
            answers.append(end)
            end += 10
    return answers


def test_what_is_expected_without_and_with_a_check() -> None:
    """Without one each batch is guarded; a check changes what comes after it, and nothing before."""
    assert answered(()) == [0, 0, -OUT_OF_ORDER, 10]
    assert answered({1}) == [0, 10, -OUT_OF_ORDER, 20]
    assert answered({2}) == [0, 0, 10, -OUT_OF_ORDER]


async def test_until_the_check_old_records_are_guarded_too(log: Log) -> None:
    """Between two checks a pipeline of old records is guarded: the repeat is known, the gap refused.

    It is sent when a check has just been, behind another producer's old records: a check that falls among the batches
    all the same forgets those, too.  Then the answers are those of a broker that forgot there, and no others, and it is
    sent again with other producers.  Where they are remembered there was no check, and all is guarded.
    """
    old, gaps = old_ms(), range(1, len(SEQUENCES))
    possible = [answered(some) for count in range(len(gaps) + 1) for some in combinations(gaps, count)]
    for _ in range(10):
        await log.until_a_check()
        p, witness = a_producer(), a_producer()
        start = 10 + await log.offset_of(batch(witness, 0, timestamp=old_ms()))
        sent = [log.send(batch(p, sequence, timestamp=old)) for sequence in SEQUENCES]
        answers = [await log.answer(one) for one in sent]
        outcome = [answer.base_offset - start if answer.code == 0 else -answer.code for answer in answers]
        if await log.entry(witness) is not None:
            assert outcome == answered(())
            return
        assert outcome in possible
    pytest.fail(f"a check fell among the batches ten times, though one had just been: {outcome}")


async def test_fresh_records_keep_the_guard_through_checks(log: Log) -> None:
    """A producer of fresh records is remembered: its last batch is recognised, and a gap is refused."""
    p = a_producer()
    last = batch(p, 1000)
    await log.offset_of(last)
    for _ in range(2):
        await log.until_a_check()
        assert await log.offset_of(last) == 0
        assert await log.refusal_of(batch(p, 1011)) == OUT_OF_ORDER


async def test_the_last_batch_decides_and_not_the_newest_record(log: Log) -> None:
    """One batch of old records after fresh ones is enough for the producer to be forgotten."""
    p = a_producer()
    await log.offset_of(batch(p, 0))
    await log.offset_of(batch(p, 10, timestamp=old_ms()))
    await log.until_expired(p)
    assert await log.offset_of(batch(p, 900)) == 20


async def test_a_raised_epoch_is_forgotten_with_old_records(log: Log) -> None:
    """A fence on a producer that goes on to write old records falls at the check: the older epoch is taken again."""
    p, old = a_producer(), old_ms()
    await log.offset_of(batch(p, 0, timestamp=old))
    assert await log.mark(p, epoch=1) == 0
    await log.offset_of(batch(p, 0, epoch=1, timestamp=old))
    await log.until_expired(p)
    assert (await log.append(batch(p, 10, epoch=0, timestamp=old))).code == 0


async def test_the_expiry_can_be_raised_at_run_time(log: Log, cluster: SandboxCluster) -> None:
    """With producer.id.expiration.ms at 2^31 - 1 (24.8 days) old records are guarded; more is refused."""
    p, ancient, older = a_producer(), a_producer(), now_ms() - 25 * 86_400_000
    last = batch(p, 1000, timestamp=old_ms())
    set_expiry(cluster, 2**31 - 1)
    try:
        with pytest.raises(confluent_kafka.KafkaException):
            set_expiry(cluster, 2**31)
        await until_raised(log)
        start = await log.offset_of(batch(ancient, 0, timestamp=older))
        await log.offset_of(last)
        await log.until_expired(ancient)
        assert await log.offset_of(last) == start + 10
        assert await log.refusal_of(batch(p, 1011, timestamp=old_ms())) == OUT_OF_ORDER
    finally:
        set_expiry(cluster, EXPIRY_MS)
    await log.until_expired(p)


async def until_raised(log: Log) -> None:
    """Wait until the broker, which reads of a setting after it was taken, no longer forgets old records at a check."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            old, older = a_producer(), a_producer()
            await log.offset_of(batch(old, 0, timestamp=old_ms()))
            await log.offset_of(batch(older, 0, timestamp=now_ms() - 25 * 86_400_000))
            await log.until_expired(older)
            if await log.entry(old) is not None:
                return


def set_expiry(cluster: SandboxCluster, milliseconds: int) -> None:
    """Set producer.id.expiration.ms on every broker, through librdkafka; raises what the broker answers."""
    change = ConfigEntry("producer.id.expiration.ms", str(milliseconds), incremental_operation=AlterConfigOpType.SET)
    admin = AdminClient(cluster.client_config())
    for broker in cluster.brokers:
        resource = ConfigResource(ResourceType.BROKER, str(broker.node_id), incremental_configs=[change])
        for answer in admin.incremental_alter_configs([resource]).values():
            answer.result(TIMEOUT_S)
