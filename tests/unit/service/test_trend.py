"""A link's past, small enough for a list of many links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.service.board import HOUR_MS, SAMPLE_MS, STEP_MS, Sample, Trend, trend

pytestmark = pytest.mark.unit


def sample(at_ms: int, rate: float) -> Sample:
    """A link at one moment."""
    return Sample(at_ms, rate, 0.0, None, None, None, None, 0)


def test_a_step_is_the_mean_of_its_samples_and_a_gap_is_not_known() -> None:
    """Steps are whole minutes, so that they do not change with the time of the question."""
    begin = 100 * STEP_MS
    found = trend([sample(begin + 20_000, 4), sample(begin + 50_000, 7), sample(begin + 130_000, 3)])
    assert found == Trend(begin, STEP_MS, (5.5, None, 3.0))
    assert trend([]).records_per_s == ()


@given(st.lists(st.integers(SAMPLE_MS, 20 * STEP_MS), min_size=1, max_size=300))
def test_it_tells_of_the_newest_hour_at_most_and_of_every_sample_in_it(gaps: list[int]) -> None:
    """However long nothing was seen between two samples."""
    times = [1_795_000_000_000]
    for gap in gaps:
        times.append(times[-1] + gap)
    found = trend([sample(at, 1.0) for at in times])
    assert len(found.records_per_s) <= HOUR_MS // STEP_MS
    end = found.begin_ms + len(found.records_per_s) * STEP_MS
    assert end - STEP_MS <= times[-1] < end
    for at in times:
        if at >= found.begin_ms:
            assert found.records_per_s[(at - found.begin_ms) // STEP_MS] == 1.0
