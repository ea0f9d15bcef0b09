"""How far two clocks are apart, by a question that took some time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.skew import ClockSkew, skew

pytestmark = pytest.mark.unit

moments = st.integers(1_600_000_000_000_000, 1_900_000_000_000_000)
"""In microseconds."""
spans = st.integers(0, 30_000_000)


@given(moments, st.integers(-10_000_000_000, 10_000_000_000), spans, spans)
def test_what_it_is_lies_between_what_is_told(asked_us: int, ahead_us: int, there_us: int, back_us: int) -> None:
    """Wherever within the question the other clock was read, though each tells whole milliseconds alone."""
    read_us, answered_us = asked_us + there_us, asked_us + there_us + back_us
    found = skew(asked_us // 1000, (read_us - ahead_us) // 1000, answered_us // 1000)
    assert found.least_ms * 1000 < ahead_us < found.most_ms * 1000
    assert found.within_ms == answered_us // 1000 - asked_us // 1000 + 2
    assert found.at_least_ms * 1000 <= abs(ahead_us)


def test_who_is_ahead_is_told() -> None:
    """And nothing where that is not known."""
    assert [(one.at_least_ms, one.is_ahead) for one in (ClockSkew(5, 9), ClockSkew(-9, -5), ClockSkew(-3, 4))] == [
        (5, True),
        (5, False),
        (0, True),
    ]
