"""Joined batches hold the same records at the same source offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.joining import FEW_RECORDS, LEAST, MOST_BYTES, joined, read_joining
from anabranch.protocol.reading import Copyable, Reading, read
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import read_header
from anabranch.records.patch import check_crc
from anabranch.records.record import Record, TimestampType

pytestmark = pytest.mark.unit


def copyable(source: int, count: int, size: int = 10) -> Copyable:
    """A batch of records that name their source offsets."""
    records = [
        Record(at, 1000 + source + at, TimestampType.CREATE_TIME, b"%d" % (source + at), bytes(size))
        for at in range(count)
    ]
    view = memoryview(bytearray(encode(records)))
    header = read_header(view)._replace(base_offset=source, leader_epoch=3)
    return Copyable(view, 0, header, (OffsetSpan(source, count),), source + count, False)


def told(batches: list[Copyable]) -> list[tuple[int, bytes | None]]:
    """Each record's key, which is its source offset, beside the offset that the spans tell."""
    found = []
    for one in batches:
        offsets = [at for source, length in one.spans for at in range(source, source + length)]
        records = decode(one.view, one.at, read_header(one.view, one.at))
        found += [(offset, record.key) for offset, record in zip(offsets, records, strict=True)]
    return found


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 1, 1, 1, 2, 20, 40])), max_size=90))
def test_joining_keeps_every_record_and_its_source_offset(steps: list[tuple[int, int]]) -> None:
    """Whatever gaps and larger batches lie between."""
    batches, at = [], 100
    for gap, count in steps:
        batches.append(copyable(at + gap, count))
        at += gap + count
    found = list(joined(batches))
    assert told(found) == told(batches) == [(offset, b"%d" % offset) for offset, _ in told(batches)]
    assert [one.end for one in found[-1:]] == [one.end for one in batches[-1:]]
    assert all(one.header.base_offset == one.spans[0].source and one.header.is_dense for one in found)


def test_small_neighbours_become_one_up_to_a_size_and_others_stay_as_they_are() -> None:
    """A few are not worth it, and a joined batch stays far below what brokers take."""
    few = [copyable(at, 1) for at in range(LEAST - 1)]
    assert list(joined(few)) == few
    assert [one.header.count for one in joined([copyable(at, 1) for at in range(LEAST)])] == [LEAST]
    large = copyable(LEAST, FEW_RECORDS + 1)
    mixed = [*(copyable(at, 1) for at in range(LEAST)), large]
    assert list(joined(mixed))[1] is large
    many = [copyable(at, 1, 1500) for at in range(400)]
    assert all(one.header.size <= MOST_BYTES for one in joined(many))


def test_a_corrupt_batch_is_passed_on_with_its_neighbours() -> None:
    """Whoever sends it stops the lane at its offset."""
    batches = [copyable(at, 1) for at in range(LEAST)]
    batches[3].view[-1] ^= 1
    assert list(joined(batches)) == batches


def test_batches_around_a_gap_stay_apart_where_it_must_be_filled() -> None:
    """Each side becomes one batch."""
    batches = [copyable(at + at // LEAST, 1) for at in range(2 * LEAST)]
    assert [one.spans for one in joined(batches)] == [(OffsetSpan(0, LEAST), OffsetSpan(LEAST + 1, LEAST))]
    parted = [one.spans for one in joined(batches, across_gaps=False)]
    assert parted == [(OffsetSpan(0, LEAST),), (OffsetSpan(LEAST + 1, LEAST),)]


def logged(batch: Copyable, epoch: int = 3) -> bytes:
    """The batch as it lies in the source's log."""
    data = bytearray(batch.view)
    data[0:8], data[12:16] = batch.header.base_offset.to_bytes(8, "big"), epoch.to_bytes(4, "big")
    return bytes(data)


def corrupt(reading: Reading) -> list[tuple[int, int]]:
    """(Base offset, records) of the batches that whoever sends them refuses."""
    found = []
    for one in reading.batches:
        try:
            check_crc(one.view, one.at, one.header)
        except CorruptBatchError:
            found.append((one.header.base_offset, one.header.count))
    return found


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 90)), max_size=4),
    st.lists(st.tuples(st.integers(0, 350), st.sampled_from(["gap", "large", "epoch", "flip", "cut"])), max_size=4),
    st.integers(0, 5),
    st.booleans(),
)
def test_reading_with_rows_joined_is_reading_then_joining(
    parts: list[tuple[int, int]], events: list[tuple[int, str]], inside: int, across: bool
) -> None:
    """Same records, offsets, epochs, counts, position and fault, wherever rows are interrupted by whatever."""
    found, at, epoch = [], 100 - inside, 3
    if inside:
        found.append(logged(copyable(at, inside + 1)))
        at += inside + 1
    happens = dict(events)
    for gap, length in parts:
        at += gap
        for _ in range(length):
            event = happens.get(len(found))
            at += 2 if event == "gap" else 0
            epoch += event == "epoch"
            count = 40 if event == "large" else 1 + (at % 11 == 0)
            data = bytearray(logged(copyable(at, count), epoch))
            data[17] ^= event == "flip"
            data[16] += event == "cut"
            found.append(bytes(data))
            at += count
    answer = b"".join(found)
    plainly = read(memoryview(bytearray(answer)), 100, ())
    quickly = read_joining(memoryview(bytearray(answer)), 100, (), across_gaps=across)
    assert str(quickly.fault) == str(plainly.fault)
    assert quickly._replace(batches=(), fault=None) == plainly._replace(batches=(), fault=None)
    assert told(list(quickly.batches)) == told(list(plainly.batches))
    assert told(list(joined(quickly.batches, across_gaps=across))) == told(list(plainly.batches))
    spans = [(one.header.leader_epoch, part) for one in quickly.batches for part in one.spans]
    by_epoch = {at: epoch for epoch, (first, length) in spans for at in range(first, first + length)}
    assert by_epoch == {
        at: one.header.leader_epoch for one in plainly.batches for at in range(one.header.base_offset, one.end)
    }
    assert [one.end for one in quickly.batches[-1:]] == [one.end for one in plainly.batches[-1:]]
    assert corrupt(quickly) == corrupt(plainly)
    if not across:
        assert all(len(one.spans) == 1 for one in quickly.batches)


def test_an_answer_of_small_batches_becomes_rows_of_a_bounded_size() -> None:
    """No batch of them is left by itself but the few at the end, which do not pay."""
    many = b"".join(logged(copyable(at, 1, 1500)) for at in range(400))
    reading = read_joining(memoryview(bytearray(many)), 0, ())
    assert [one.owned for one in reading.batches[:2]] == [True, True]
    assert all(one.header.size <= MOST_BYTES for one in reading.batches)
    assert sum(not one.owned for one in reading.batches) < LEAST
    few = memoryview(bytearray(b"".join(logged(copyable(at, 1)) for at in range(LEAST - 1))))
    assert all(one.view is few for one in read_joining(few, 0, ()).batches)
