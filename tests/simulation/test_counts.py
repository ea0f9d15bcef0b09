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
