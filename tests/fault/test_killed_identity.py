"""Workers that are killed while they pad a head or fill gaps: the next one goes on, at the source's offsets."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from anabranch.model.lane import LaneMode
from anabranch.operations.jobs import launcher
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY, await_markers
from qa.faults.testbed import LINK, LinkTestbed
from qa.faults.worker_process import start_worker
from qa.inconclusive import InconclusiveError
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from tests.chance import conclusive, seed
from tests.integration.links.identity import assert_equal_offsets, begin_at, log_start
from tests.integration.links.topics import create, fresh, newest_offset, numbered, produce, transaction

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
HEAD = 20_000_000
KILLS = 8


def _end(cluster: SandboxCluster, topic: str) -> int:
    """Where a log ends; 0 where there is none yet."""
    try:
        return newest_offset(cluster, topic)
    except KafkaException:
        return 0


def _begin_far(cluster: SandboxCluster) -> str:
    """A log that begins far above zero."""
    far = create(cluster, fresh("far"))
    begin_at(cluster, far, HEAD)
    produce(cluster, far, numbered(50), batch=7)
    return far


def test_workers_killed_while_they_pad_and_fill_leave_equal_offsets(tmp_path: Path) -> None:
    """Each worker is killed at the first sign of padding, until one was, then at random; the last one is left alone.

    Where all was padded before it was looked at, another log that begins far above zero is to be padded next.
    """

    def attempt(number: int) -> None:
        place = tmp_path / str(number)
        place.mkdir()
        _kill_and_compare(place, random.Random(seed(4) + number))

    conclusive(attempt)


def _kill_and_compare(tmp_path: Path, chance: random.Random) -> None:
    """Raises InconclusiveError where all was right, but no worker was killed while it padded."""
    source, target = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("source", "target")])
    with source, target:
        fars, holey = [_begin_far(source)], create(source, "holey")
        testbed = LinkTestbed(tmp_path, source, target, lease_seconds=60, standalone=None, environment={})
        testbed.create_link()
        workers: list[subprocess.Popen[bytes]] = []
        seen: set[int] = set()

        def start() -> subprocess.Popen[bytes]:
            job = tmp_path / f"job-{len(workers)}.json"
            job.write_text(launcher.job_spec(testbed.target_context, testbed.source_context, LINK, 60))
            workers.append(start_worker(job))
            return workers[-1]

        try:
            for number in range(KILLS):
                for _ in range(6):
                    transaction(source, holey, [b"%d" % number] * 2, commit=number % 3 != 1)
                produce(source, holey, numbered(20, first=1000 * number), batch=6)
                padded = any(0 < end < HEAD for end in seen)
                if not padded and max(seen, default=0) >= HEAD:
                    fars.append(_begin_far(source))
                    seen.clear()
                far = fars[-1]
                watched = (far, holey) if padded else (far,)
                before = [_end(target, topic) for topic in watched]
                worker = start()
                deadline = time.monotonic() + TIMEOUT_S
                while [_end(target, topic) for topic in watched] == before and time.monotonic() < deadline:
                    time.sleep(0.005)
                if padded:
                    time.sleep(chance.random() * 0.6)
                worker.kill()
                worker.wait()
                seen.add(_end(target, far))
            await_markers({"bootstrap.servers": source.internal_bootstrap}, [(holey, 0)])
            start()
            wanted = {topic: newest_offset(source, topic) for topic in (*fars, holey)}
            deadline = time.monotonic() + LONG_TIMEOUT_S
            while {lane.source.topic: lane.position for lane in testbed.lanes()} != wanted:
                assert time.monotonic() < deadline, testbed.lanes()
                time.sleep(0.2)
            modes = {lane.mode_reason: lane.mode for lane in testbed.lanes()}
            assert set(modes.values()) == {LaneMode.IDENTITY}, modes
            for far in fars:
                assert log_start(target, far) == HEAD
                assert assert_equal_offsets(source, target, far) == 50
            assert assert_equal_offsets(source, target, holey) > 20 * KILLS
            if not any(0 < end < HEAD for end in seen):
                raise InconclusiveError(f"no worker was killed while it padded: {sorted(seen)}")
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
