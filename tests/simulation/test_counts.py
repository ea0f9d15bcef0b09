"""What a lane is said to have copied is what it copied, whoever was killed meanwhile."""

from __future__ import annotations

import pytest

from qa.simulation.faults import Fault
from tests.simulation.test_silence import following, settle

pytestmark = pytest.mark.test


def test_records_of_killed_workers_are_counted() -> None:
    """A worker persists about once a second, and copies between that and its end: its successor counts that too."""
    with following() as life:
        for _ in range(6):
            life.world.scheduler.run(lambda: False, life.world.chance.uniform(2.0, 4.0))
            assert life.faults.inject(Fault.WORKER_KILL)
        life.load.stop()
        found = settle(life, lambda link: all(one.lag_records == 0 for one in link.lanes))
        # Logs without gaps that are copied from their first offset: as many records as offsets.
        assert [one.records for one in found.lanes] == [one.position for one in found.lanes]


def test_the_latency_is_told_while_records_come_and_not_afterwards() -> None:
    """Workers' clocks are some seconds off from those of who writes; a source that was away for long shows in it."""
    with following() as life:
        found = settle(life, lambda link: all(one.latency_ms is not None for one in link.lanes))
        assert all(one.latency_ms is not None and 0 <= one.latency_ms < 4_000 for one in found.lanes)
        life.world.network.cut("*", "target")
        life.world.scheduler.run(lambda: False, 8.0)
        life.world.network.heal()
        settle(life, lambda link: any((one.latency_ms or 0) >= 4_000 for one in link.lanes))
        life.load.stop()
        settle(life, lambda link: all(one.latency_ms is None for one in link.lanes))
