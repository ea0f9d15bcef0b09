"""Hours that are to go by in which nothing happens: they count once they went by, and not where they could not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qa.simulation.faults import LOOKS, Fault
from qa.simulation.life import Life
from qa.simulation.plans import EVERY
from tests.chance import seed

pytestmark = pytest.mark.unit


def test_hours_are_counted_when_they_have_gone_by() -> None:
    """While a broker is stopped no moment is quiet; what is asked for then comes later, or never."""
    life = Life(replace(EVERY["days"], faults=()), seed(3))
    scheduler, broker = life.world.scheduler, next(iter(life.source.brokers.values()))

    def after(seconds: float) -> tuple[int, int]:
        scheduler.run(lambda: False, seconds)
        return scheduler.leapt_ms, life.faults.struck.get(Fault.HOURS, 0)

    with life.world.entered():
        broker.pause()
        assert not life.faults.inject(Fault.HOURS)
        assert after(0.1) == (0, 0)
        broker.resume()
        leapt, counted = after(0.1)
        assert leapt > 0 and counted == 1

        broker.pause()
        assert not life.faults.inject(Fault.HOURS)
        assert after(0.003 * (LOOKS + 2)) == (leapt, 1)
        broker.resume()
        assert after(1.0) == (leapt, 1)
