"""Hours that are to go by in which nothing happens: they count once they went by, and not where they could not."""

from __future__ import annotations

import asyncio
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


def test_no_hours_go_by_while_a_killed_process_has_a_request_under_way() -> None:
    """No request is on its way for that long: once its producer is forgotten, a broker would take it."""
    life = Life(replace(EVERY["days"], faults=()), seed(3))
    network, world = life.world.network, life.world
    with world.entered():
        life.load.start()
        world.ask(lambda: asyncio.run(life._store_link()))
        life._start_run()
        assert world.scheduler.run(lambda: bool(life._runs[0].workers) and len(network.wires) > 2, 30.0)
        worker = life._runs[0].workers[0].process

        def sends() -> bool:
            return any(wire.process is worker and not wire.has_arrived for wire in network.wires)

        assert world.scheduler.run(sends, 30.0)
        for run in life._runs:
            run.kill()
        worker.kill()
        assert not any(one.process is worker for one in network.wires)
        assert not network.is_quiet
        assert world.scheduler.run(lambda: network.is_quiet, 60.0)
