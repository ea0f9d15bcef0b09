"""What the control topics of thousands of lanes may cost the network, by a shorter run of their benchmark."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.copier.reporting import schedule
from anabranch.kafka.connection import Connection
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import ClusterPlan
from anabranch.kafka.simulated.server import ServedCluster
from anabranch.model.cluster import ClusterContext
from benchmarks import control
from benchmarks.clusters import KAFKA

pytestmark = pytest.mark.test

LANES, WORKERS = 5_000, 50


@pytest.fixture(autouse=True)
def _unmetered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmark counts the bytes of every connection of its process, for good."""
    for name in ("submit", "buffer_updated"):
        monkeypatch.setattr(Connection, name, getattr(Connection, name))
    monkeypatch.setattr(control, "ROUND_S", 0.005)


def measured() -> control.Traffic:
    """Two times that each lane's turn comes."""

    async def run(bootstrap: str) -> control.Traffic:
        async with open_cluster(ClusterContext("target", (bootstrap,))) as target:
            return await control.measure(target, LANES, WORKERS, 2 * schedule.SPACING)

    with ServedCluster(ClusterPlan("target", KAFKA)) as served:
        return asyncio.run(run(served.bootstrap))


def test_the_control_topics_of_five_thousand_lanes_take_less_than_five_megabytes_a_second() -> None:
    """All of them copy, fifty workers and three others read what they file, and two replicas do."""
    found = measured()
    assert (found.lanes, found.workers) == (LANES, WORKERS)
    assert min(found.persisted_by_worker, found.read_of_worker, found.look_of_reader) > 0
    assert found.total < control.LIMIT == 5_000_000, found
