"""A link on a standalone Spark cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.integration.spark.standalone import kill_tree, standalone

from anabranch.engine.launcher import job_spec
from anabranch.sandbox import Cluster
from anabranch.testing.faults.processes import PACKAGE_ROOT, LinkRun
from anabranch.testing.patience import PATIENCE_S

pytestmark = pytest.mark.full
LEASE_S = 300.0
LANES = 4  # a new worker is given some of them; of two that only follow it would be given none
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "100",
}


def test_lanes_of_a_killed_worker_go_on_where_no_core_is_spare(old: Cluster, new: Cluster, tmp_path: Path) -> None:
    """They stood still for the length of a lease, as their task waited for a core; a worker that comes is used, too."""
    topic = create(old, fresh("standalone"), LANES)
    here = {"PYTHONPATH": PACKAGE_ROOT, "PATH": os.environ["PATH"]}

    def write(first: int) -> None:
        produce(old, topic, [record for at in range(LANES) for record in numbered(10, first=first, partition=at)])

    with standalone(tmp_path) as spark, link(old, new, topic) as made:

        def copied(position: int) -> None:
            for partition in range(LANES):
                made.await_position(topic, position, partition)

        workers = [spark.add_worker(here) for _ in range(2)]
        spec = tmp_path / "run.json"
        spec.write_text(job_spec(made.target, made.source, made.id, LEASE_S))
        run = LinkRun(spec, spark.master, tmp_path / "run.log", conf=CONF)
        try:
            write(0)
            copied(10)
            made.await_(lambda status: len({lane.owner for lane in status.lanes}) == 2)

            kill_tree(workers[0].pid)
            write(10)
            copied(20)
            assert len({lane.owner for lane in made.status().lanes}) == 1

            spark.add_worker(here)
            made.await_(lambda status: len({lane.owner for lane in status.lanes}) == 2)
            write(20)
            copied(30)
            assert run.stop(PATIENCE_S)
        finally:
            run.end_all()
        assert [made.assert_copied(topic, partition=partition) for partition in range(LANES)] == [30] * LANES
