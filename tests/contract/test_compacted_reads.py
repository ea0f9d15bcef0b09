"""A log that the cleaner really went over is read as librdkafka's consumer reads it, before, between and after."""

import asyncio
import random
from collections.abc import Mapping

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from anabranch.records.header import BatchHeader
from anabranch.records.split import split
from tests.chance import seed
from tests.contract.lab import TIMEOUT_S, Log, a_producer, batch
from tests.contract.reads import Copy, Seen, append, consumed, copy_of, until_stable, writer

pytestmark = pytest.mark.test

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "86400000",
}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
KEYS = 12


def configure(log: Log, settings: Mapping[str, str]) -> None:
    """Change settings of the topic."""
    set_to = AlterConfigOpType.SET
    entries = [ConfigEntry(key, value, incremental_operation=set_to) for key, value in settings.items()]
    resource = ConfigResource(ResourceType.TOPIC, log.topic, incremental_configs=entries)
    admin = AdminClient(log.cluster.client_config())
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


async def fill(log: Log, first: int, rounds: int = 25) -> None:
    """Batches over few keys under every codec, tombstones, and transactions that commit or abort."""
    chance = random.Random(first)
    plain = [writer(log, **{"compression.type": codec}) for codec in CODECS]
    bound = writer(log, **{"transactional.id": log.topic})
    bound.init_transactions(TIMEOUT_S)
    for number in range(rounds):
        transactional = number % 5 == 4
        producer = bound if transactional else plain[number % len(plain)]
        if transactional:
            producer.begin_transaction()
        for part in range(chance.randint(1, 6)):
            value = None if chance.random() < 0.15 else b"%d.%d " % (number, part) * chance.choice([1, 20])
            key = b"key %d" % chance.randrange(KEYS)
            producer.produce(log.topic, value, key, partition=0, headers=[("h", b"%d" % number), ("h", None)])
        assert producer.flush(TIMEOUT_S) == 0
        if transactional and number % 10 == 4:
            producer.abort_transaction(TIMEOUT_S)
        elif transactional:
            producer.commit_transaction(TIMEOUT_S)
    for value in (b"here", None):
        plain[0].produce(log.topic, value, b"gone", partition=0)
        assert plain[0].flush(TIMEOUT_S) == 0
    await until_stable(log, await log.high_watermark())


async def cleaned(log: Log) -> list[BatchHeader]:
    """Let the cleaner in, which held back so far, and wait for it; returns the batches that it could go over."""
    await asyncio.sleep(0.15)  # past segment.ms, which the next append looks at: the newest segment is left alone
    end = await log.offset_of(batch(a_producer(), 0, 1, key=b"last"))
    configure(log, {"min.compaction.lag.ms": "0", "max.compaction.lag.ms": "100"})
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            before = await log.raw()
            keys = [record.key for record in consumed(log) if record.offset < end]
            if len(keys) == len(set(keys)) and await log.raw() == before:
                return [header for _, header in split(memoryview(before)) if header.base_offset < end]
            await asyncio.sleep(0.2)


def told(copy: Copy) -> int:
    """How many offsets the copy accounts for."""
    return len(copy.records) + copy.aborted + copy.compacted + copy.control


@pytest.mark.topic(COMPACTED)
async def test_a_cleaned_log_is_read_as_a_consumer_does(log: Log, other: Log) -> None:
    """Gaps inside batches and between them, tombstones with their horizon, aborted data gone: all offsets told."""
    await fill(log, seed(1))
    whole = consumed(log)
    heads = await cleaned(log)
    assert any(head.count and not head.is_dense and not head.is_control for head in heads), "no gap inside a batch"
    following = 0
    gaps = 0
    for head in heads:
        gaps += head.base_offset > following
        following = head.last_offset + 1
    assert gaps, "no gap between batches"

    copy = await copy_of(log)
    theirs = consumed(log)
    assert copy.records == theirs
    assert any(record.value is None for record in theirs)
    assert set(theirs[:-1]) < set(whole)
    end = await log.high_watermark()
    assert copy.position == end == told(copy)
    assert copy.compacted

    for max_bytes in (1, 900):
        assert (await copy_of(log, max_bytes=max_bytes)).records == theirs
    for position in range(0, end, 3):
        part = await copy_of(log, position)
        assert part.records == [record for record in theirs if record.offset >= position]
        assert part.position == end == position + told(part)

    await append(other, copy.batches)
    assert [head.attributes & ~7 for head in await other.batches()] == [0] * len(copy.batches)
    latest: dict[bytes | None, Seen] = {record.key: record._replace(offset=n) for n, record in enumerate(theirs)}
    assert {record.key: record for record in consumed(other)} == latest


@pytest.mark.topic(COMPACTED)
async def test_compaction_between_two_fetches_loses_nothing_that_is_left(log: Log) -> None:
    """What was read before a cleaning and what is read on behind it are together a log that a consumer may see."""
    await fill(log, seed(2))
    before = consumed(log)
    middle = before[len(before) // 2].offset
    first = [record for record in (await copy_of(log)).records if record.offset < middle]
    assert first == [record for record in before if record.offset < middle]
    await cleaned(log)
    rest = await copy_of(log, middle)
    after = consumed(log)
    assert rest.records == [record for record in after if record.offset >= middle]
    assert not set(first) <= set(after)
    latest = {record.key: record for record in after}
    assert {record.key: record for record in first + rest.records} == latest


@pytest.mark.topic(COMPACTED | {"message.timestamp.type": "LogAppendTime"})
async def test_a_cleaned_log_with_the_brokers_times_is_read_as_a_consumer_does(log: Log) -> None:
    """The cleaner keeps a batch's maximum as the time of all that is left of it."""
    await fill(log, seed(3))
    await cleaned(log)
    copy = await copy_of(log)
    assert copy.records == consumed(log)
    assert copy.position == await log.high_watermark() == told(copy)
