"""Runs from batch headers alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.gap_records import GapRecordLog
from anabranch.records.encode import encode
from anabranch.records.header import BatchHeader, read_header
from anabranch.records.record import Record, TimestampType
from anabranch.records.sequence import sequence_of
from anabranch.state.maps.rebuild import LaneLog, ranges_of

pytestmark = pytest.mark.unit

MINE, OTHER = (7, 8), 99
CONTROL = 0x20
PLAIN = read_header(memoryview(bytearray(encode([Record(0, 0, TimestampType.CREATE_TIME, None, None)]))))


def header(producer: int, source: int, target: int, count: int, *, control: bool = False) -> BatchHeader:
    """A batch of a producer as it lies in the target's log."""
    return PLAIN._replace(
        base_offset=target,
        producer_id=producer,
        base_sequence=sequence_of(source),
        count=count,
        last_offset_delta=count - 1,
        attributes=CONTROL if control else 0,
    )


@given(
    st.integers(0, 2**40),
    st.lists(st.tuples(st.sampled_from(["mine", "other", "marker"]), st.integers(1, 1000)), max_size=30),
)
def test_batches_of_the_lane_tell_their_source_offsets_over_wraps_and_other_writers(
    start: int, steps: list[tuple[str, int]]
) -> None:
    """Sequences wrap at 2^31; markers and what others wrote are passed over."""
    batches, expected = [], []
    source, target = start, 500
    for number, (kind, count) in enumerate(steps):
        if kind == "mine":
            batches.append(header(MINE[number % 2], source, target, count))
            expected.append(MappedRange(source, target, count))
            source += count
        else:
            batches.append(header(OTHER if kind == "other" else MINE[0], 3, target, count, control=kind == "marker"))
        target += count
    assert ranges_of(batches, LaneLog("t-0", MINE, GapRecordLog()), start) == expected
