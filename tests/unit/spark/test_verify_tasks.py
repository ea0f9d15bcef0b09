"""What Python tasks of a comparison do: stored batches are matched, offsets placed, strays named."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.security import open_cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated.cluster import SimulatedCluster
from anabranch.kafka.simulated.transactions import append_marker
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.records.encode import body_of, encode, seal
from anabranch.records.header import LOG_APPEND_TIME, TRANSACTIONAL, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.sandbox import ClusterSpec
from anabranch.spark.verify import batches, classifying, folding
from anabranch.verify.classify import ComparedLane
from anabranch.verify.findings import FindingKind
from anabranch.verify.lockstep import Reached
from anabranch.verify.pins import CHUNK, LogEnds, pin
from tests import chance
from tests.simulated import Simulated

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Simulated, Simulated]]:
    """Two clusters; each test has a topic of its own."""
    with Simulated(ClusterSpec(name="old"), 1) as here, Simulated(ClusterSpec(name="new"), 2) as there:
        yield here, there


def stored(*, attributes: int = 0, last_ms: int = 1_000, producer: int = -1) -> bytes:
    """A batch of two records, whose header may tell more than they do."""
    records = [Record(0, 1_000, TimestampType.CREATE_TIME, b"k", b"v")] * 2
    return seal(
        body_of(records, [0, 1]),
        count=2,
        last_offset_delta=1,
        timestamps=(1_000, last_ms),
        attributes=attributes,
        producer=(producer, 0, 0) if producer >= 0 else (-1, -1, -1),
    )


def fill(one: Simulated, topic: str, logged: Sequence[bytes | int]) -> ClusterContext:
    """A topic of one partition with these batches; a number is the abort marker of that producer."""

    context = ClusterContext(one.spec.name, tuple(one.bootstrap.split(",")))

    async def create() -> None:
        async with open_cluster(context) as cluster:
            await create_topic(cluster, topic, 1, 1, {})
            await until_led(cluster, [topic])

    def write(cluster: SimulatedCluster) -> None:
        partition = cluster.topics[topic].partitions[0]
        for batch in logged:
            if isinstance(batch, int):
                append_marker(cluster, partition, batch, 0, commit=False, coordinator_epoch=0)
            else:
                partition.led.log.append(batch, read_header(batch), partition.leader_epoch, 1_000)
                cluster.appended(partition)

    asyncio.run(create())
    one.served.do(write)
    return context


def compared(
    both: tuple[Simulated, Simulated],
    topic: str,
    source: Sequence[bytes | int],
    target: Sequence[bytes | int],
    run: MappedRange,
    stable: int = 2,
) -> tuple[int, list[tuple[int, int]]]:
    """How many records are equal as stored, and the source ranges that are not decided."""
    here, there = fill(both[0], topic, source), fill(both[1], topic, target)
    at = TopicPartition(topic, 0)
    end = LogEnds(0, 100)
    whole = pin("lane", at, at, OffsetMap.of([run], 0, 0), end, end)
    done = batches.run(batches.CompareTask(0, whole, whole, here, there, stable, None))
    return sum(one.records for one in done.sums.values()), done.undecided


def test_equal_batches_are_equal_as_stored(both: tuple[Simulated, Simulated]) -> None:
    """Whatever producer wrote them."""
    assert compared(both, "same", [stored()], [stored(producer=9)], MappedRange(0, 0, 2)) == (2, [])


def test_a_clock_of_the_broker_is_another_time(both: tuple[Simulated, Simulated]) -> None:
    """The records' bytes are the same then: only the header tells whose clock counts, and what it said."""
    by_broker = stored(attributes=LOG_APPEND_TIME)
    later = stored(attributes=LOG_APPEND_TIME, last_ms=5_000)
    assert compared(both, "clock", [stored()], [by_broker], MappedRange(0, 0, 2)) == (0, [(0, 2)])
    assert compared(both, "later", [by_broker], [later], MappedRange(0, 0, 2)) == (0, [(0, 2)])


def test_what_lies_above_an_open_transaction_is_read_as_records(both: tuple[Simulated, Simulated]) -> None:
    """A consumer that reads committed records sees none of it."""
    assert compared(both, "open", [stored()], [stored()], MappedRange(0, 0, 2), stable=0) == (0, [(0, 2)])


def joined(*counts: int, value: bytes = b"v") -> list[bytes]:
    """Batches of so many records, numbered through."""
    made, at = [], 0
    for count in counts:
        some = [
            Record(0, 1_000 + at + one, TimestampType.CREATE_TIME, b"%d" % (at + one), value) for one in range(count)
        ]
        made.append(encode(some))
        at += count
    return made


def test_batches_that_were_cut_otherwise_are_compared_record_by_record(
    both: tuple[Simulated, Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch at a time, of which each has other records on the two sides; one that differs is left over, alone."""
    source = joined(*[3] * 40)
    assert compared(both, "cut", source, joined(*[8] * 15), MappedRange(0, 0, 120), 200) == (120, [])
    monkeypatch.setattr(batches, "_RECORD_BYTES", 400)
    assert compared(both, "fetched", source, joined(*[8] * 15), MappedRange(0, 0, 120), 200) == (120, [])
    assert compared(both, "shorter", source, joined(*[8] * 14), MappedRange(0, 0, 120), 200) == (111, [(111, 120)])
    other = [*joined(*[8] * 14), joined(*[8] * 14, 8, value=b"w")[-1]]
    assert compared(both, "other", source, other, MappedRange(0, 0, 120), 200) == (111, [(111, 120)])
    assert compared(both, "hidden", source, joined(*[8] * 15), MappedRange(0, 0, 120), 112) == (111, [(111, 120)])


def test_parts_of_batches_that_were_cut_otherwise_tell_each_record_once(both: tuple[Simulated, Simulated]) -> None:
    """Whichever side's batches lie over the end of a part; nothing is left over, and nothing is counted twice."""
    here, there = (fill(one, "parts", joined(*cut)) for one, cut in zip(both, ([7] * 20, [9] * 16), strict=True))
    at = TopicPartition("parts", 0)
    whole = pin("lane", at, at, OffsetMap.of([MappedRange(0, 0, 140)]), LogEnds(0, 140), LogEnds(0, 140))
    reached, records, begin = Reached(), 0, 0
    for end in (10, 12, 56, 63, 139, 140):
        done = batches.run(batches.CompareTask(0, whole, whole.part(begin, end), here, there, 200, None))
        assert reached.rest(0, done.undecided, done.reach) == []
        records += sum(one.records for one in done.sums.values())
        begin = end
    assert records == 140


def test_records_without_a_place_are_not_those_that_are_where_it_would_be(both: tuple[Simulated, Simulated]) -> None:
    """The map leaves some of the source out, and what the target has there instead has the same contents."""
    same = [encode([Record(0, 1_000, TimestampType.CREATE_TIME, b"k", b"v")] * 3) for _ in range(4)]
    assert compared(both, "left-out", same, same[:2], MappedRange(0, 0, 6), 200) == (6, [])
    for name, cut in (
        ("alike", same),
        ("otherwise", [encode([Record(0, 1_000, TimestampType.CREATE_TIME, b"k", b"v")] * 12)]),
    ):
        here, there = fill(both[0], name, same), fill(both[1], name, cut)
        at = TopicPartition(name, 0)
        ranges = OffsetMap.of([MappedRange(0, 0, 6), MappedRange(9, 6, 3)])
        whole = pin("lane", at, at, ranges, LogEnds(0, 12), LogEnds(0, 12))
        done = batches.run(batches.CompareTask(0, whole, whole.part(0, 9), here, there, 200, None))
        assert (sum(one.records for one in done.sums.values()), done.undecided) == (6, [(6, 9)])


@pytest.mark.parametrize("fixed", range(8))
def test_whatever_lies_where_each_record_is_told_once_and_no_fault_is_equal(
    fixed: int, both: tuple[Simulated, Simulated]
) -> None:
    """Sides and parts cut anyhow: a record that differs, a foreign one, and what a transaction hides."""
    draw = random.Random(chance.seed(fixed))
    name, counts = f"drawn-{fixed}", [draw.randrange(1, 40) for _ in range(draw.randrange(1, 4))]
    source, target, faults, foreign, ranges = list[bytes](), list[bytes](), set[int](), list[int](), OffsetMap(0, 0)
    for count in counts:
        if draw.random() < 0.4:
            foreign.append(ranges.target_end)
            target.append(encode([made(-1)]))
            ranges = ranges.append(MappedRange(ranges.source_end, ranges.target_end + 1, count))
        else:
            ranges = ranges.append(MappedRange(ranges.source_end, ranges.target_end, count))
        numbers = range(ranges.source_end - count, ranges.source_end)
        source += [encode([made(one) for one in some]) for some in pieces_of(draw, numbers)]
        for some in pieces_of(draw, numbers):
            kind = draw.random()
            wrong = draw.choice(some) if kind < 0.15 else None
            hidden = 0.15 <= kind < 0.3
            records = [made(one, b"w" if one == wrong else b"v") for one in some]
            writer = 5 if hidden else -1
            target.append(encode(records, transactional=hidden, producer_id=writer, producer_epoch=0, sequence=0))
            faults |= set(some) if hidden else set() if wrong is None else {wrong}
    here, there = fill(both[0], name, source), fill(both[1], name, target)
    at, ends = TopicPartition(name, 0), (LogEnds(0, ranges.source_end), LogEnds(0, ranges.target_end))
    whole = pin("lane", at, at, ranges, *ends)
    equal, reached, left, begin = 0, Reached(), list[tuple[int, int]](), 0
    while begin < whole.source_to:
        end = min(whole.source_to, begin + draw.randrange(1, 50))
        done = batches.run(batches.CompareTask(0, whole, whole.part(begin, end), here, there, 1_000, None))
        left += reached.rest(0, done.undecided, done.reach)
        equal += sum(one.records for one in done.sums.values())
        begin = end
    undecided = {one for first, last in left for one in range(first, last)}
    assert len(undecided) == sum(last - first for first, last in left), "none is told twice"
    assert equal + len(undecided) == whole.source_to
    assert faults <= undecided
    parts = [whole.part(*one) for one in left]
    assert all(any(one.target_from <= where < one.target_to for one in parts) for where in foreign)


def made(number: int, value: bytes = b"v") -> Record:
    """A record like no other."""
    return Record(0, 1_000 + number, TimestampType.CREATE_TIME, b"%d" % number, value)


def pieces_of(draw: random.Random, numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """In pieces of a few each."""
    at = 0
    while at < len(numbers):
        size = draw.randrange(1, 9)
        yield numbers[at : at + size]
        at += size


def test_what_was_aborted_in_the_source_is_not_looked_for(both: tuple[Simulated, Simulated]) -> None:
    """From its first batch on; what was committed behind it is."""
    source = [stored(attributes=TRANSACTIONAL, producer=7), 7, stored()]
    assert compared(both, "aborted", source, [stored()], MappedRange(3, 0, 2)) == (2, [])


def test_each_of_the_aborted_transactions_of_a_producer_is_left_out(both: tuple[Simulated, Simulated]) -> None:
    """A marker ends the first of them, and not those that follow."""
    hidden = stored(attributes=TRANSACTIONAL, producer=7)
    source = [hidden, 7, hidden, hidden, 7, stored()]
    assert compared(both, "aborted-again", source, [stored()], MappedRange(8, 0, 2)) == (2, [])


def test_foreign_records_behind_the_last_copy_are_in_its_chunk() -> None:
    """A chunk behind the pin's end is none that is compared."""
    ranges = OffsetMap.of([MappedRange(0, 0, CHUNK)]).advance(CHUNK, CHUNK + 3)
    translation = folding.LaneTranslation(0, ranges, (0, CHUNK))
    assert folding.positions(translation, np.array([0, CHUNK - 1, CHUNK, CHUNK + 2])).tolist() == [0, *[CHUNK - 1] * 3]


def test_strays_beyond_those_that_can_be_named_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is a difference, too."""
    monkeypatch.setattr(classifying, "MOST_ROWS", 3)
    count = 8
    columns: dict[str, list[int] | list[bool]] = {}
    for name in ("offset", "place", "position", "first", "second"):
        columns[name] = list(range(count))
    for name in ("lane", "key", "value", "headers", "time"):
        columns[name] = [0] * count
    for name in ("target", "keyed", "untold"):
        columns[name] = [False] * count
    for name in ("newest_here", "tombstone"):
        columns[name] = [-1] * count
    lane = ComparedLane(OffsetMap.of([MappedRange(0, 0, count)]), (0, count), (0, count))
    found = classifying._namer({0: lane}, {}, 2)(pa.table(columns)).to_pylist()
    assert [(row["kind"], row["source"], row["number"]) for row in found] == [
        (FindingKind.MISSING, 0, 3),
        (FindingKind.MISSING, 1, 3),
        (FindingKind.UNNAMED, -1, 5),
    ]
