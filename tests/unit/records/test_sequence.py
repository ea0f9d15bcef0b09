"""Sequences wrap like Kafka's and unwrap to the offset that they came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.records.sequence import advance, sequence_of, unwrap

pytestmark = pytest.mark.unit
OFFSETS = st.integers(0, 2**62)
HALF = 2**30


@pytest.mark.parametrize(("offset", "sequence"), [(0, 0), (2**31 - 1, 2**31 - 1), (2**31, 0), (2**32 + 5, 5)])
def test_an_offset_has_the_sequence_that_kafka_gives_it(offset: int, sequence: int) -> None:
    """2^31 - 1 is followed by 0."""
    assert sequence_of(offset) == sequence


@given(OFFSETS, st.integers(0, 2**33))
def test_advancing_a_sequence_is_advancing_the_offset(offset: int, n: int) -> None:
    """The sequence n records on is the sequence of the offset n on, across any number of wraps."""
    assert advance(sequence_of(offset), n) == sequence_of(offset + n)
    assert advance(sequence_of(offset + n), -n) == sequence_of(offset)


@given(OFFSETS, st.integers(-HALF + 1, HALF))
def test_an_offset_is_found_again_from_anywhere_within_half_a_lap(near: int, distance: int) -> None:
    """Unwrap inverts sequence_of for every offset in (near - 2^30, near + 2^30]."""
    offset = near + distance
    if offset >= 0:
        assert unwrap(sequence_of(offset), near) == offset


@given(st.integers(0, 2**31 - 1), OFFSETS)
def test_unwrap_answers_inside_its_window_and_with_the_same_sequence(sequence: int, near: int) -> None:
    """The answer is the one offset of the window that has the sequence."""
    offset = unwrap(sequence, near)
    assert near - HALF < offset <= near + HALF
    assert offset % 2**31 == sequence
