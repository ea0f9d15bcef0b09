"""Joined batches hold the same records at the same source offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lanes.holes import Stretch
from anabranch.records.decode import decode
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.records.record import Record, TimestampType
from anabranch.replicate.joining import FEW_RECORDS, LEAST, MOST_BYTES, joined
from anabranch.replicate.reading import Copyable

pytestmark = pytest.mark.unit


def copyable(source: int, count: int, size: int = 10) -> Copyable:
    """A batch of records that name their source offsets."""
    records = [
        Record(at, 1000 + source + at, TimestampType.CREATE_TIME, b"%d" % (source + at), bytes(size))
        for at in range(count)
    ]
    view = memoryview(bytearray(encode(records)))
    header = read_header(view)._replace(base_offset=source, leader_epoch=3)
    return Copyable(view, 0, header, (Stretch(source, count),), source + count, False)


def told(batches: list[Copyable]) -> list[tuple[int, bytes | None]]:
    """Each record's key, which is its source offset, beside the offset that the stretches tell."""
    found = []
    for one in batches:
        offsets = [at for source, length in one.stretches for at in range(source, source + length)]
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
    assert [one.through for one in found[-1:]] == [one.through for one in batches[-1:]]
    assert all(one.header.base_offset == one.stretches[0].source and one.header.is_dense for one in found)


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


def test_batches_around_a_hole_stay_apart_where_it_must_be_filled() -> None:
    """Each side becomes one batch."""
    batches = [copyable(at + at // LEAST, 1) for at in range(2 * LEAST)]
    assert [one.stretches for one in joined(batches)] == [(Stretch(0, LEAST), Stretch(LEAST + 1, LEAST))]
    parted = [one.stretches for one in joined(batches, across_holes=False)]
    assert parted == [(Stretch(0, LEAST),), (Stretch(LEAST + 1, LEAST),)]
