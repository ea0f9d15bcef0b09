"""What logs do while they live: compaction, retention, transactions; and the reader of stored batches."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from anabranch.config.verifyspec import ReaderKind
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.spark.verify.run import Comparison
from anabranch.verify.findings import Finding, FindingKind
from qa.brokers import await_markers
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from qa.verify_lab import Fault, Message, fresh, messages, pin_of, plant, spec_of, write
from tests.chance import seed
from tests.integration.links.topics import delete_records, ends

pytestmark = pytest.mark.full

WHEN = 1_760_000_000_000


def compared(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster, topic: str, ranges: OffsetMap, **changes: object
) -> tuple[list[Finding], Comparison]:
    """Compare to the end."""
    compacts = changes.pop("compacts", (False, False))
    pin = pin_of(topic, ranges, compacts=compacts)  # type: ignore[arg-type]
    comparison = Comparison(spark, spec_of(old, new, [pin], **changes))
    for _ in comparison.rounds():
        pass
    return [one for named in comparison.findings().values() for one in named.samples], comparison


def dense(count: int) -> OffsetMap:
    """The map of a lane with equal offsets."""
    return OffsetMap.of([MappedRange(0, 0, count)])


def test_batches_are_matched_without_reading_records(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """Stored batches are equal after the same bytes went to both; planted faults are named all the same."""
    chance = random.Random(seed(7))
    topic, records = fresh("batches"), messages(70_000, chance)
    write(old, topic, records, **{"segment.bytes": 1 << 20})
    write(new, topic, records)
    found, comparison = compared(spark, old, new, topic, dense(70_000), reader=ReaderKind.BATCHES)
    assert found == []
    assert comparison.work.lanes[0].source.records == 70_000

    topic = fresh("batches")
    faults = [Fault.DROP, Fault.REPEAT, Fault.SWAP, Fault.VALUE, Fault.TIMESTAMP, Fault.TAIL]
    mirror = plant(records, faults, chance, topic)
    write(old, topic, mirror.source)
    write(new, topic, mirror.target)
    found, _ = compared(spark, old, new, topic, mirror.ranges, reader=ReaderKind.BATCHES)
    assert found == list(mirror.expected)


def test_a_drop_that_the_map_does_not_tell_displaces_what_follows(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """One record is missing, all behind it are displaced by one, and nothing else is said."""
    chance = random.Random(seed(11))
    topic, count = fresh("untold"), 3000
    mirror = plant(messages(count, chance), [Fault.UNTOLD_DROP], chance, topic)
    write(old, topic, mirror.source)
    write(new, topic, mirror.target)
    found, _ = compared(spark, old, new, topic, mirror.ranges)
    (missing,) = mirror.expected
    assert found[0] == missing
    assert found[1:] == [Finding(topic, FindingKind.DISPLACED, at, at - 1) for at in range(missing.source + 1, count)]


def test_what_a_cleaner_took_is_gone_and_what_it_cannot_have_taken_is_missing(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """The target is compacted, the source is not yet; one key's only record was never written to the target."""
    topic = fresh("compacted")
    records = [
        Message(b"key %d" % (at % 40), None if at % 97 == 0 else b"v%d" % at, (), WHEN + at) for at in range(2000)
    ]
    records[1000] = Message(b"alone", b"value", (), WHEN + 1000)
    write(old, topic, records)
    quick = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "100",
        "delete.retention.ms": "0",
    }
    write(new, topic, [one for one in records if one.key != b"alone"], **quick)
    ranges = OffsetMap.of([MappedRange(0, 0, 1000), MappedRange(1001, 1000, 999)])
    producer = Producer({"bootstrap.servers": new.internal_bootstrap})
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:  # a record now and then rolls the segment, so that the cleaner may have the ones before
        producer.produce(topic, b"later", b"later", partition=0)
        producer.flush(TIMEOUT_S)
        found, comparison = compared(spark, old, new, topic, ranges, compacts=(False, True))
        if comparison.work.lanes[0].target.records < 1000:
            break
        assert time.monotonic() < deadline, "the cleaner did not run"
    assert [one for one in found if one.kind.is_difference] == [Finding(topic, FindingKind.MISSING, 1000, -1)]
    kinds = Counter(one.kind for one in found)
    assert kinds[FindingKind.GONE_TARGET_COMPACTION] == len(found) - 1 > 900
    strict, _ = compared(spark, old, new, topic, ranges)
    assert {one.kind for one in strict} == {FindingKind.MISSING}, "without the policy nothing is excused"


def test_what_retention_takes_between_pin_and_read_is_gone(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """Both logs lose another part of their start after the pins: nothing is missing, nothing extra."""
    topic, records = fresh("retention"), messages(1000, random.Random(seed(3)))
    write(old, topic, records)
    write(new, topic, records)
    pin = pin_of(topic, dense(1000))
    comparison = Comparison(spark, spec_of(old, new, [pin]))
    delete_records(old, topic, 300)
    delete_records(new, topic, 100)
    assert ends(old, topic)[0] == 300
    for _ in comparison.rounds():
        pass
    (named,) = comparison.findings().values()
    assert named.counts.differences == 0
    assert named.counts[FindingKind.GONE_SOURCE_RETENTION] == 200, "the target still had them"


def test_what_one_isolation_level_does_not_see_is_hidden_or_extra(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """An aborted stranger's records are extra; a good copy behind an open transaction is hidden."""
    topic, records = fresh("levels"), messages(20, random.Random(seed(5)))
    write(old, topic, records)
    write(new, topic, records[:10])
    address = {"bootstrap.servers": new.internal_bootstrap}
    # Open for as long as the comparison takes.
    stranger = Producer({**address, "transactional.id": topic, "transaction.timeout.ms": 900_000})
    stranger.init_transactions(TIMEOUT_S)
    stranger.begin_transaction()
    stranger.produce(topic, b"aborted", partition=0)
    assert stranger.flush(TIMEOUT_S) == 0
    copier = Producer(address)
    for one in records[10:]:
        headers = {"headers": list(one.headers)} if one.headers else {}
        copier.produce(topic, one.value, one.key, partition=0, timestamp=one.timestamp, **headers)
    assert copier.flush(TIMEOUT_S) == 0
    ranges = OffsetMap.of([MappedRange(0, 0, 10), MappedRange(10, 11, 10)])
    found, _ = compared(spark, old, new, topic, ranges)
    assert found == [
        Finding(topic, FindingKind.UNEXPECTED, -1, 10),
        *(Finding(topic, FindingKind.HIDDEN, at, at + 1) for at in range(10, 20)),
    ]
    stranger.abort_transaction(TIMEOUT_S)
    await_markers(address, [(topic, 0)])
    found, _ = compared(spark, old, new, topic, ranges)
    assert found == [Finding(topic, FindingKind.UNEXPECTED, -1, 10)]
