"""The sums of the JVM and those of the Python tasks are the same numbers."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession

from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.sandbox import SandboxCluster
from anabranch.spark.verify import folding, scan, summing
from anabranch.spark.verify.options import options
from anabranch.spark.verify.run import Comparison
from anabranch.verify.sums import Sum
from qa.verify_lab import Message, context_of, fresh, messages, pin_of, spec_of, write
from tests.chance import seed

pytestmark = pytest.mark.test


def summed(frame: DataFrame) -> dict[int, dict[int, Sum]]:
    """What a scan says."""
    found: dict[int, dict[int, Sum]] = {}
    for row in frame.collect():
        folding.add(found, row)
    return found


@pytest.mark.parametrize("ansi", ["false", pytest.param("true", marks=pytest.mark.full)])
def test_both_paths_make_the_same_sums(spark: SparkSession, old: SandboxCluster, ansi: str) -> None:
    """Two lanes with shifts, one of them in two chunks, all shapes of records; a session that refuses overflows too."""
    topics = [fresh("sums"), fresh("sums")]
    pins = []
    for at, topic in enumerate(topics):
        write(old, topic, messages(8_000 if at else 3_000, random.Random(seed(at))))
        pins.append(pin_of(topic, OffsetMap.of([MappedRange(60_000 + 7 * at, 0, 8_000 if at else 3_000)])))
    shifts = {pin.target: (lane, pin.shift or 0) for lane, pin in enumerate(pins)}
    assert [shift for _, shift in shifts.values()] == [-60_000, -60_007]
    ranges = [scan.OffsetRange(pin.target, 0, pin.target_to) for pin in pins]
    rows = scan.read(spark, options(context_of(old)), ranges, scan.COMMITTED)
    assert rows is not None
    tickets = folding.lane_translations(enumerate(pins), lambda pin: pin.target)
    by_python = summed(folding.sums(rows, tickets, True, None))
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        by_jvm = summed(summing.sums(spark, rows, shifts))
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "false")
    assert by_jvm == by_python
    assert {lane: set(chunks) for lane, chunks in by_jvm.items()} == {0: {0}, 1: {0, 1}}
    assert {lane: sum(one.records for one in chunks.values()) for lane, chunks in by_jvm.items()} == {
        0: 3_000,
        1: 8_000,
    }


def test_headers_are_told_apart(spark: SparkSession, old: SandboxCluster) -> None:
    """Each of these differs from all others by where a null stands, an order, or which field has a byte."""
    topic = fresh("headers")
    shapes: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (None, None, ()),
        (b"", None, ()),
        (None, b"", ()),
        (b"", b"", ()),
        (b"a", b"", ()),
        (b"", b"a", ()),
        (None, None, (("a", None),)),
        (None, None, (("a", b""),)),
        (None, None, (("", b"a"),)),
        (None, None, (("a", None), ("b", b"c"))),
        (None, None, (("a", b"b"), ("c", None))),
        (None, None, (("a", b"b"), ("c", b""))),
        (None, None, (("c", None), ("a", b"b"))),
        (None, None, (("a", None), ("a", None))),
        (None, None, (("a", None), ("a", None), ("a", None))),
        (None, b"a", (("a", None),)),
    ]
    write(old, topic, [Message(key, value, headers, 1_760_000_000_000) for key, value, headers in shapes])
    where = scan.OffsetRange(TopicPartition(topic, 0), 0, len(shapes))
    rows = scan.read(spark, options(context_of(old)), [where], scan.COMMITTED)
    assert rows is not None
    found = rows.select("offset", scan.first(), scan.second()).collect()
    assert len(found) == len({tuple(row[1:]) for row in found}) == len(shapes)


def test_a_throttled_comparison_says_the_same(spark: SparkSession, old: SandboxCluster, new: SandboxCluster) -> None:
    """Where a rate is given Python tasks sum up; the numbers, and what was read, are those of one without."""
    topic, records = fresh("rates"), messages(2_000, random.Random(seed(2)))
    for cluster in (old, new):
        write(cluster, topic, records)
    pin = pin_of(topic, OffsetMap.of([MappedRange(0, 0, 2_000)]))
    found = []
    for rate in (None, 1 << 34):
        comparison = Comparison(spark, spec_of(old, new, [pin], rate_limit=rate))
        for _ in comparison.rounds():
            pass
        lane = comparison.work.lanes[0]
        assert lane.chunks == set()
        found.append((lane.source, lane.target, lane.uncommitted, comparison.records, comparison.bytes))
    assert found[0] == found[1]
    assert found[0][3] == 2 * 2_000, "a mirror without gaps is read once"


def test_a_task_pays_for_every_byte(spark: SparkSession, old: SandboxCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that a throttled task was granted are those of its records, and it waits whenever it is told to."""
    topic, records = fresh("paces"), messages(2_000, random.Random(seed(4)))
    write(old, topic, records)
    rows = scan.read(
        spark, options(context_of(old)), [scan.OffsetRange(TopicPartition(topic, 0), 0, 2_000)], scan.COMMITTED
    )
    assert rows is not None
    pin = pin_of(topic, OffsetMap.of([MappedRange(0, 0, 2_000)]))
    tickets = folding.lane_translations([(0, pin)], lambda one: one.source)
    table = folding.digests(rows).toArrow()
    waits: list[float] = []
    paces: list[float] = []

    class Told:
        def __init__(self, rate: float | None) -> None:
            paces.append(rate or 0.0)
            self.bytes = 0

        def passed(self, size: int) -> float:
            self.bytes += size
            return self.bytes / 1000

    monkeypatch.setattr(folding, "ReadPace", Told)
    monkeypatch.setattr(folding, "time", SimpleNamespace(sleep=waits.append))  # not that of other threads
    (found,) = folding.folder(tickets, False, 5.0)(iter(table.to_batches(max_chunksize=300)))
    size = sum(len(one.key or b"") + len(one.value or b"") for one in records)
    assert paces == [5.0]
    assert waits == sorted(waits) and len(waits) >= 7 and waits[-1] == size / 1000
    assert found.column("bytes").to_pylist() == [size]


@pytest.mark.full
def test_a_gap_between_plain_chunks_changes_no_sum(
    spark: SparkSession, old: SandboxCluster, new: SandboxCluster
) -> None:
    """One record was never copied and a foreign one lies elsewhere: cut by shift or not, throttled or not, the same."""
    topic, count = fresh("holes"), 260_000
    records = messages(count, random.Random(seed(6)), size=4)
    write(old, topic, records)
    write(new, topic, [*records[:100_000], *records[100_001:200_000], records[0], *records[200_000:]])
    ranges = OffsetMap.of(
        [MappedRange(0, 0, 100_000), MappedRange(100_001, 100_000, 99_999), MappedRange(200_000, 200_000, 60_000)]
    )
    found = []
    for rate in (None, 1 << 34):
        comparison = Comparison(spark, spec_of(old, new, [pin_of(topic, ranges)], rate_limit=rate))
        for _ in comparison.rounds():
            pass
        lane = comparison.work.lanes[0]
        assert lane.chunks == {100_000 >> 16, 200_000 >> 16}
        found.append((lane.source, lane.target, lane.uncommitted, comparison.records, comparison.bytes))
    assert found[0] == found[1]
    assert found[0][3] == 2 * count, "the target has no gap of its own"
