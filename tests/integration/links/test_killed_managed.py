"""A link that may not ALTER its target cluster, as on a managed service, whose workers are killed: on real brokers.

What a person can do once the coordinator has forgotten who was killed is walked on simulated clusters, where two days
pass at once (``tests/simulation/test_walked_ways.py``).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.kafka.transactions import transactional_ids
from anabranch.model.lane import LaneMode
from anabranch.operations.jobs import launcher
from anabranch.protocol.endings import Stop
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa import links as engine
from qa.blocking import on
from qa.brokers import STEADY
from qa.faults.worker_process import start_worker
from qa.service import until
from tests.integration.kafka.security import context_of
from tests.integration.links.guarded import grant, target_needs
from tests.integration.links.lab import Link, link
from tests.integration.links.test_decisions import values, values_of
from tests.integration.links.topics import OLD_MS, create, fresh, newest_offset, numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.real, pytest.mark.timeout(900)]

USERS = {"admin": "admin-secret", "modest": "m"}
EXPIRATION_S = 4.0
FORGETFUL = {
    "transactional.id.expiration.ms": str(int(EXPIRATION_S * 1000)),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
KILLS = 4
BURST = 400


@pytest.fixture(scope="module")
def managed() -> Iterator[tuple[SandboxCluster, SandboxCluster, SandboxCluster]]:
    """A source, and two targets where the link may not ALTER the cluster; one soon forgets transactional ids."""
    targets = [
        ClusterSpec(name, security="PLAIN", authorizer=True, users=USERS, overrides={**STEADY, **more})
        for name, more in (("managed", {}), ("forgetful", FORGETFUL))
    ]
    old, new, forgetful = start_clusters([ClusterSpec("unmanaged", overrides=STEADY), *targets])
    with old, new, forgetful:
        for cluster in (new, forgetful):
            grant(cluster, "modest", target_needs("data-"))
        yield old, new, forgetful


@contextmanager
def worker_of(made: Link, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker's process that is killed, as by the kernel, where the block ends."""
    job = directory / "job.json"
    job.write_text(launcher.job_spec(made.target, made.source, made.id, 60))
    process = start_worker(job)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_workers_that_are_killed_are_fenced_by_the_coordinator_and_nothing_is_lost_or_twice(
    managed: tuple[SandboxCluster, SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """Each in the midst of copying; the next one ends the transactional id of the one before."""
    old, new, _ = managed
    topic = create(old, fresh("data-killed"))
    produce(old, topic, numbered(BURST, timestamp=OLD_MS), batch=5)
    with link(old, new, topic, users=("admin", "modest")) as made:
        assert made.report is not None
        assert any("User:modest may not ALTER on cluster" in one.what for one in made.report.findings)
        for kill in range(1, KILLS + 1):
            with worker_of(made, tmp_path) as process:
                made.await_position(topic, BURST * kill)
                assert process.poll() is None
                before = newest_offset(new, topic)
                produce(old, topic, numbered(BURST, first=BURST * kill, timestamp=OLD_MS), batch=5)
                made.await_(lambda _, end=before: newest_offset(new, topic) > end)  # type: ignore[misc]
        with made.running():
            lane = made.await_position(topic, BURST * (KILLS + 1))
            assert lane.mode is LaneMode.MAPPED
            assert made.assert_copied(topic) == BURST * (KILLS + 1)
        assert values(new, topic) == values_of(range(BURST * (KILLS + 1)))
        assert made.rebuilt(lane) == made.ranges(lane.lane)


def test_a_killed_worker_whom_the_coordinator_has_forgotten_stops_its_lane_and_nothing_is_written(
    managed: tuple[SandboxCluster, SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """It cannot be fenced any more, and may still write: the lane says for how many hours; a resume changes nothing."""
    old, _, forgetful = managed
    topic = create(old, fresh("data-forgotten"))
    produce(old, topic, numbered(20, timestamp=OLD_MS), batch=5)
    with link(old, forgetful, topic, users=("admin", "modest")) as made:
        with worker_of(made, tmp_path):
            made.await_position(topic, 20)
        produce(old, topic, numbered(20, first=20, timestamp=OLD_MS), batch=5)
        until(lambda: not on(context_of(forgetful, "admin"), transactional_ids))
        with made.running():
            lane = made.await_stopped(topic)
            assert Stop.OWNER_FORGOTTEN.value in str(lane.stop_reason)
            assert "in 48 h nobody writes under it any more" in str(lane.stop_reason)
            assert lane.stop_offset == 20
            engine.resume(made.target, made.id)
            made.await_rounds(topic)
            made.await_stopped(topic)
        assert values(forgetful, topic) == values_of(range(20))
