"""However many source brokers there are, and whenever they come, their answers stay within what is said of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.copier.lane.lane import LANE_BYTES
from anabranch.copier.source.answer_sizes import ANSWER_BYTES, ANSWERS_BYTES, AROUND_BYTES, answer_bytes
from anabranch.kafka.frames import FramePool

pytestmark = pytest.mark.unit


def frame_of(size: int) -> int:
    """The bytes that an answer keeps whose request allows so many of records."""
    pool = FramePool()
    frame = pool.take(size)
    kept = pool.lent
    frame.release()
    return kept


@given(st.integers(1, 300))
def test_the_answers_of_all_brokers_keep_no_more_than_is_said(brokers: int) -> None:
    """16 MB, or a megabyte each where there are more than 16; none more than 8 MB, and none less than a megabyte."""
    size = answer_bytes(brokers)
    assert LANE_BYTES <= size <= ANSWER_BYTES
    assert frame_of(size - AROUND_BYTES) == frame_of(size) == size
    assert brokers * size <= max(ANSWERS_BYTES, brokers * LANE_BYTES)
    assert brokers > 16 or 2 * size > ANSWERS_BYTES // brokers or size == ANSWER_BYTES


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 11)), max_size=60))
def test_brokers_that_come_and_go_keep_no_more_than_a_megabyte_each_beyond(turns: list[tuple[int, int]]) -> None:
    """Each turn some brokers are read: one of them is asked, or its answer comes and it is asked again."""
    awaited: dict[int, int] = {}
    for brokers, node in turns:
        awaited.pop(node, None)
        left = ANSWERS_BYTES - sum(awaited.values())
        size = awaited[node] = answer_bytes(max(brokers, len(awaited) + 1), sum(awaited.values()))
        assert size <= max(left, LANE_BYTES)
        assert sum(awaited.values()) < ANSWERS_BYTES + len(awaited) * LANE_BYTES
