"""Workers that are killed while they pad a head or fill holes: the next one goes on, at the source's offsets."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from tests.integration.links.identity import assert_equal_offsets, begin_at, log_start
from tests.integration.links.topics import create, newest_offset, numbered, produce, transaction

from anabranch.engine import launcher, links
from anabranch.model.lane import LaneMode
from anabranch.sandbox import Cluster, ClusterSpec, start_clusters
from anabranch.testing.faults.stand import LINK, Stand

pytestmark = [pytest.mark.fault, pytest.mark.timeout(400)]
HEAD = 20_000_000
KILLS = 8


def _end(cluster: Cluster, topic: str) -> int:
    """Where a log ends; 0 where there is none yet."""
    try:
        return newest_offset(cluster, topic)
    except KafkaException:
        return 0


def test_workers_killed_while_they_pad_and_fill_leave_equal_offsets(tmp_path: Path) -> None:
    """Each worker is killed at a random instant; the last one is left alone."""
    chance = random.Random(4)
    source, target = start_clusters((ClusterSpec("source"), ClusterSpec("target")))
    with source, target:
        far, holey = create(source, "far"), create(source, "holey")
        begin_at(source, far, HEAD)
        produce(source, far, numbered(50), batch=7)
        stand = Stand(tmp_path, source, target, lease_seconds=60, standalone=None, environment={})
        stand.create_link()
        workers: list[subprocess.Popen[bytes]] = []
        seen: set[int] = set()

        def start() -> subprocess.Popen[bytes]:
            job = tmp_path / f"job-{len(workers)}.json"
            job.write_text(launcher.job_spec(stand.target_context, stand.source_context, LINK, 60))
            script = Path(__file__).with_name("worker_process.py")
            workers.append(subprocess.Popen([sys.executable, str(script), str(job)]))
            return workers[-1]

        try:
            for number in range(KILLS):
                for _ in range(6):
                    transaction(source, holey, [b"%d" % number] * 2, commit=number % 3 != 1)
                produce(source, holey, numbered(20, first=1000 * number), batch=6)
                before = _end(target, far), _end(target, holey)
                worker = start()
                deadline = time.monotonic() + 20
                while (_end(target, far), _end(target, holey)) == before and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(chance.random() * 0.6)
                worker.kill()
                worker.wait()
                seen.add(_end(target, far))
            start()
            wanted = {far: _end(source, far), holey: _end(source, holey)}
            deadline = time.monotonic() + 90
            while {lane.source.topic: lane.position for lane in links.show(stand.target_context, LINK).lanes} != wanted:
                assert time.monotonic() < deadline, links.show(stand.target_context, LINK).lanes
                time.sleep(0.2)
            modes = {lane.mode_reason: lane.mode for lane in links.show(stand.target_context, LINK).lanes}
            assert set(modes.values()) == {LaneMode.IDENTITY}, modes
            assert log_start(target, far) == HEAD
            assert assert_equal_offsets(source, target, far) == 50
            assert assert_equal_offsets(source, target, holey) > 20 * KILLS
            assert len({end for end in seen if 0 < end < HEAD}) >= 1, f"no worker was killed while it padded: {seen}"
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
