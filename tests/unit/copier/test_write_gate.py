"""Whether bytes may leave now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.copier.write_gate import HOLD_SECONDS, WriteGate
from tests.unit.clock import Clock

pytestmark = pytest.mark.unit


def test_a_gate_is_shut_until_the_wanted_state_was_read_and_again_when_that_is_long_ago() -> None:
    """A process that was stopped and goes on writes nothing before it has read the control topics."""
    clock = Clock(1000.0)
    gate = WriteGate(clock)
    assert not gate.is_open
    gate.renew(clock.now)
    assert gate.is_open
    clock.now += HOLD_SECONDS
    assert not gate.is_open
    gate.renew(clock.now - HOLD_SECONDS - 1)
    assert not gate.is_open, "a read that began long ago says nothing of now"
    gate.renew(clock.now)
    gate.paused = True
    assert not gate.is_open
    gate.paused = False
    assert gate.is_open
    gate.shut()
    assert not gate.is_open


@given(st.integers(1, 10**9), st.lists(st.integers(1, 10**6), min_size=1, max_size=200))
def test_a_sender_that_waits_as_told_keeps_the_rate(rate: int, sizes: list[int]) -> None:
    """Over any span no more than the rate's share and one burst of a quarter of a second leaves."""
    clock = Clock(1000.0)
    gate = WriteGate(clock)
    gate.rate = rate
    begin, sent = clock.now, 0
    for size in sizes:
        allowed = (clock.now - begin) * rate + rate / 4
        assert sent <= allowed * (1 + 1e-6) + 1
        sent += size
        clock.now += gate.take(size)


def test_without_a_rate_nobody_waits() -> None:
    """No limit is no arithmetic."""
    assert WriteGate(Clock(1000.0)).take(10**12) == 0.0
