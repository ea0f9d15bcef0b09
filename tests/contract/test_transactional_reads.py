"""A transactional log is read as librdkafka's read-committed consumer reads it, and the target takes the result."""

import random

import pytest

from anabranch.records.header import read_header
from anabranch.records.join import join
from tests.chance import seed
from tests.contract.lab import TIMEOUT_S, Log, a_producer, batch
from tests.contract.reads import Seen, append, consumed, copy_of, stable_end, until_stable, writer

pytestmark = pytest.mark.test

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


async def fill(log: Log, drawn: int, steps: int = 60) -> list[Seen]:
    """Transactions of four producers, committed, aborted and interleaved, plain records between, one left open.

    Returns what must be seen, told by the writer and no reader: offsets and times are left at 0.
    """
    chance = random.Random(drawn)
    producers = [
        writer(log, **{"transactional.id": f"{log.topic}-{n}", "compression.type": CODECS[n % len(CODECS)]})
        for n in range(4)
    ]
    plain = writer(log, **{"compression.type": "zstd"})
    open_ones: dict[int, list[tuple[int, Seen]]] = {}
    committed: list[tuple[int, Seen]] = []
    number = 0

    def write(producer: object, count: int) -> list[tuple[int, Seen]]:
        nonlocal number
        made = []
        for _ in range(count):
            value = None if chance.random() < 0.1 else b"value %d" % number * chance.choice([1, 30])
            record = Seen(0, 0, b"key %d" % number, value, (("h", b"%d" % number), ("h", None)))
            producer.produce(  # type: ignore[attr-defined]
                log.topic, record.value, record.key, partition=0, headers=list(record.headers)
            )
            made.append((number, record))
            number += 1
        assert producer.flush(TIMEOUT_S) == 0  # type: ignore[attr-defined]
        return made

    for producer in producers:
        producer.init_transactions(TIMEOUT_S)
    for _ in range(steps):
        which = chance.randrange(5)
        if which == 4:
            committed += write(plain, chance.randint(1, 4))
        elif which in open_ones and chance.random() < 0.6:
            if chance.random() < 0.5:
                producers[which].commit_transaction(TIMEOUT_S)
                committed += open_ones.pop(which)
            else:
                producers[which].abort_transaction(TIMEOUT_S)
                del open_ones[which]
        else:
            if which not in open_ones:
                producers[which].begin_transaction()
                open_ones[which] = []
            open_ones[which] += write(producers[which], chance.randint(1, 5))
    for which, records in open_ones.items():
        producers[which].commit_transaction(TIMEOUT_S)
        committed += records
    await until_stable(log, await log.high_watermark())
    return [record for _, record in sorted(committed)]


def content(records: list[Seen]) -> list[Seen]:
    """The records without what the brokers gave them."""
    return [record._replace(offset=0, timestamp=0) for record in records]


@pytest.mark.parametrize("fixed", [1, 2])
async def test_reading_is_what_a_read_committed_consumer_does(log: Log, other: Log, fixed: int) -> None:
    """Record by record, with offsets and times; a target's consumers of both kinds see the same records in order."""
    written = await fill(log, seed(fixed))
    copy = await copy_of(log)
    theirs = consumed(log)
    assert copy.records == theirs
    assert content(copy.records) == written
    assert copy.position == await log.high_watermark()
    assert len(copy.records) + copy.aborted + copy.control == copy.position
    assert copy.compacted == 0
    assert copy.aborted
    assert copy.passed_on == len(copy.batches)

    await append(other, copy.batches)
    for isolation in ("read_committed", "read_uncommitted"):
        assert consumed(other, isolation) == [record._replace(offset=n) for n, record in enumerate(theirs)]


async def test_small_answers_and_any_first_position_read_the_same(log: Log) -> None:
    """Answers of one batch, cut off anywhere, and positions inside of batches and of aborted transactions."""
    await fill(log, seed(3))
    theirs = consumed(log)
    for max_bytes in (1, 700, 3000):
        assert (await copy_of(log, max_bytes=max_bytes)).records == theirs
    for position in range(await log.high_watermark()):
        copy = await copy_of(log, position, max_bytes=5000)
        assert copy.records == [record for record in theirs if record.offset >= position]


async def test_an_open_transaction_ends_the_reading(log: Log) -> None:
    """Nothing from its first record on is read, whoever wrote it, until it has ended."""
    await log.offset_of(batch(a_producer(), 0))
    producer = writer(log, **{"transactional.id": log.topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(log.topic, b"open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    await log.offset_of(batch(a_producer(), 0))
    assert (await stable_end(log), await log.high_watermark()) == (10, 21)
    copy = await copy_of(log)
    assert (copy.position, copy.records) == (10, consumed(log))

    producer.abort_transaction(TIMEOUT_S)
    await until_stable(log, 22)
    rest = await copy_of(log, copy.position)
    assert copy.records + rest.records == consumed(log)
    assert (len(rest.records), rest.aborted, rest.control) == (10, 1, 1)


async def test_control_batches_outside_of_transactions_are_dropped(log: Log) -> None:
    """An abort marker for a producer without a transaction, as a lane's kill is, hides nothing and is no record."""
    producer = a_producer()
    await log.offset_of(batch(producer, 0))
    assert await log.mark(producer) == 0
    await log.offset_of(batch(a_producer(), 0))
    copy = await copy_of(log)
    assert copy.records == consumed(log)
    assert (len(copy.records), copy.control, copy.position) == (20, 1, 21)


@pytest.mark.topic({"message.timestamp.type": "LogAppendTime"})
async def test_the_brokers_times_are_copied_as_the_records_own(log: Log, other: Log) -> None:
    """Of a LogAppendTime topic with transactions: a consumer of the copy sees the times that one of the source saw."""
    await fill(log, 4, steps=30)
    copy = await copy_of(log)
    theirs = consumed(log)
    assert copy.records == theirs
    assert copy.passed_on == 0
    await other.delete()
    other.configs.pop("message.timestamp.type")
    await other.create()
    await append(other, copy.batches)
    assert consumed(other) == [record._replace(offset=n) for n, record in enumerate(theirs)]


async def test_joined_batches_are_taken_and_hold_the_same(log: Log, other: Log) -> None:
    """All of a log's batches as one: five codecs, so it has none; then those of one codec, which it keeps."""
    await fill(log, seed(5))
    copy = await copy_of(log)
    of_lz4 = [one for one in copy.batches if read_header(one).codec.name == "LZ4"]
    assert len(of_lz4) > 1
    joined = [join([(memoryview(one), 0, read_header(one)) for one in batches]) for batches in (copy.batches, of_lz4)]
    await append(other, joined)
    heads = await other.batches()
    assert [(head.count, head.codec.name) for head in heads] == [
        (len(copy.records), "NONE"),
        (sum(read_header(one).count for one in of_lz4), "LZ4"),
    ]
    found = consumed(other)[: len(copy.records)]
    assert found == [record._replace(offset=n) for n, record in enumerate(copy.records)]


async def test_rows_of_one_record_batches_are_taken_and_hold_the_same(log: Log, other: Log) -> None:
    """What a producer wrote one by one is read as a few batches, and the other cluster's consumers see the same."""
    producer = writer(log, **{"linger.ms": 0, "batch.num.messages": 1})
    for number in range(300):
        producer.produce(log.topic, b"%d" % number * 20, b"k" if number % 3 else None, timestamp=5000 - number % 7)
    assert producer.flush(TIMEOUT_S) == 0
    copy = await copy_of(log, joins=True)
    assert len(copy.batches) < 10
    assert copy.records == consumed(log)
    await append(other, copy.batches)
    assert consumed(other) == copy.records
