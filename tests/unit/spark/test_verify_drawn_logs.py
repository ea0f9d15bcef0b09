"""Logs of both sides as they may come, read in parts: what is called equal is equal, and nothing is left out.

Beside records that differ there are such as the map leaves out, foreign ones, batches that were compacted, that are
of a transaction or stamped by the broker, an open transaction, and a pin that begins inside of a batch.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, seal
from anabranch.records.header import (
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    Codec,
    read_header,
)
from anabranch.records.record import Record, TimestampType
from anabranch.spark.verify import batches
from anabranch.verify.lockstep import Reached
from anabranch.verify.pins import LogEnds, Pin, pin
from tests import chance

pytestmark = pytest.mark.unit

SOURCE, TARGET = TopicPartition("source", 0), TopicPartition("target", 0)
OLD, NEW = ClusterContext("old", ("old:9092",)), ClusterContext("new", ("new:9092",))
EACH = 100
FAR = 1 << 20


@dataclass(frozen=True)
class Logs:
    """Both sides as stored, the pin, and where a read-committed consumer of the target sees nothing any more."""

    whole: Pin
    source: list[bytes]
    target: list[bytes]
    stable: int


def record(draw: random.Random, offset: int) -> Record:
    """One that is like most others: that it is in another's place can be told by its offset alone."""
    time, key = (1_001, draw.choice([None, b""])) if draw.random() < 0.03 else (1_000, b"k")
    return Record(offset, time, TimestampType.CREATE_TIME, key, b"v")


def stored(draw: random.Random, records: Mapping[int, Record], attributes: Iterable[int]) -> list[bytes]:
    """Records in batches, of which a few have one of these attributes, and a few were compacted."""
    made, left = list[bytes](), sorted(records)
    while left:
        in_a_row = next((n for n in range(1, len(left)) if left[n] != left[0] + n), len(left))
        size = min(in_a_row, draw.randrange(1, 7))
        some, left = left[:size], left[size:]
        if len(some) > 2 and draw.random() < 0.03:
            del some[draw.randrange(1, len(some) - 1)]
        flags = next((one for one in attributes if draw.random() < 0.03), 0)
        kept = [records[at] for at in some]
        made.append(
            seal(
                body_of(kept, [at - some[0] for at in some]),
                count=len(some),
                last_offset_delta=some[-1] - some[0],
                timestamps=(kept[0].timestamp, max(one.timestamp for one in kept)),
                attributes=draw.choice(list(Codec)) | flags,
                base_offset=some[0],
            )
        )
    return made


def drawn(draw: random.Random) -> Logs:
    """Some runs of the map with what lies between, before and behind them."""
    source, target, runs = dict[int, Record](), dict[int, Record](), list[MappedRange]()
    at, there = begins = draw.choice([(0, 0), (0, 7), (5, 0), (5, 5)])
    for _ in range(draw.randrange(1, 6)):
        left_out, foreign = draw.choice([0, 0, 1, 3]) if runs else 0, draw.choice([0, 0, 0, 1, 2])
        source |= {one: record(draw, one) for one in range(at, at + left_out) if draw.random() < 0.2}
        target |= {one: record(draw, one) for one in range(there, there + foreign) if draw.random() < 0.7}
        at, there, length = at + left_out, there + foreign, draw.randrange(1, 25)
        runs.append(MappedRange(at, there, length))
        for number in range(length):
            source[at + number] = one = record(draw, at + number)
            target[there + number] = one._replace(offset=there + number)
        at, there = at + length, there + length
    source |= {one: record(draw, one) for one in range(at, at + draw.randrange(4))}
    target |= {one: record(draw, one) for one in range(there, there + draw.randrange(4))}
    ranges = OffsetMap(*begins)
    for run in runs:
        ranges = ranges.append(run)
    if draw.random() < 0.7:
        for one in draw.sample(sorted(target), min(3, len(target))):
            wrong = draw.choice([target[one]._replace(value=b"w"), target[one]._replace(timestamp=5), None])
            if wrong is None:
                del target[one]
            else:
                target[one] = wrong
        del source[draw.choice(sorted(source))]
    firsts = begins[0] + draw.choice([0, 0, 3]), begins[1] + draw.choice([0, 0, 3])
    return Logs(
        pin("lane", SOURCE, TARGET, ranges, *(LogEnds(first, FAR) for first in firsts)),
        stored(draw, source, (LOG_APPEND_TIME, DELETE_HORIZON)),
        stored(draw, target, (TRANSACTIONAL, LOG_APPEND_TIME, DELETE_HORIZON)),
        draw.choice([FAR, FAR, draw.randrange(begins[1], there + 1)]),
    )


def served(monkeypatch: pytest.MonkeyPatch, draw: random.Random, logs: Logs) -> None:
    """Have the tasks read these logs, some batches at a time."""

    @asynccontextmanager
    async def opened(context: ClusterContext) -> AsyncIterator[ClusterContext]:
        yield context

    async def data(
        cluster: ClusterContext, _: object, bounds: tuple[int, int, int], *_more: object
    ) -> AsyncIterator[list[tuple[BatchHeader, memoryview]]]:
        some: list[tuple[BatchHeader, memoryview]] = []
        for batch in logs.source if cluster is OLD else logs.target:
            header = read_header(batch)
            if header.last_offset >= bounds[0] and header.base_offset < bounds[2] and bounds[0] < bounds[2]:
                some.append((header, memoryview(batch)[HEADER_SIZE:]))
                if draw.random() < 0.3:
                    yield some
                    some = []
        if some:
            yield some

    monkeypatch.setattr(batches, "open_cluster", opened)
    monkeypatch.setattr(batches, "_data", data)


def given(log: Iterable[bytes]) -> dict[int, tuple[Record, BatchHeader]]:
    """What a log has at each offset, with the batch that it is in."""
    return {one.offset: (one, read_header(b)) for b in log for one in decode(memoryview(b), 0, read_header(b))}


@pytest.mark.parametrize("fixed", range(4))
def test_what_is_called_equal_is_and_all_else_is_left_to_who_reads_records(
    fixed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record of both sides is told once, and an equal one is where the map has it, and is seen there."""
    equal = 0
    for number in range(EACH):
        seed = chance.seed(fixed) * EACH + number
        draw = random.Random(seed)
        logs = drawn(draw)
        served(monkeypatch, draw, logs)
        equal += checked(logs, draw, f"seed {seed}")
    assert equal > 3 * EACH, "some are"


def checked(logs: Logs, draw: random.Random, why: str) -> int:
    """How many records are equal, part by part."""
    whole, reached, left, count = logs.whole, Reached(), list[tuple[int, int]](), 0
    begin = whole.source_from
    while begin < whole.source_to:
        end = min(whole.source_to, begin + draw.randrange(1, 40))
        task = batches.CompareTask(0, whole, whole.part(begin, end), OLD, NEW, logs.stable, None)
        done = batches.run(task)
        count += sum(one.records for one in done.sums.values())
        left += reached.rest(0, done.undecided, done.reach)
        begin = end
    undecided = {at for first, last in left for at in range(first, last)}
    assert len(undecided) == sum(last - first for first, last in left), why
    ours, theirs = given(logs.source), given(logs.target)
    places = {run.source + at: run.target + at for run in whole.ranges for at in range(run.length)}
    told = {at for at in ours if whole.source_from <= at < whole.source_to and at not in undecided}
    assert count == len(told), why
    for at in told:
        assert places.get(at) in theirs, f"{why}: {at} is nowhere"
        one, batch = theirs[places[at]]
        assert one._replace(offset=at) == ours[at][0], f"{why}: {at} differs"
        assert one.offset < logs.stable and not batch.is_transactional, f"{why}: {at} is hidden"
    taken, parts = {places[at] for at in told}, [whole.part(*one) for one in left]
    for at in theirs:
        if whole.source_from < whole.source_to and whole.target_from <= at < whole.target_to:
            times = sum(one.target_from <= at < one.target_to for one in parts) + (at in taken)
            assert times == 1, f"{why}: {at} of the target is told {times} times"
    return count
