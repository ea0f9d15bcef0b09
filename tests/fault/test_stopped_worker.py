"""A worker that was stopped, succeeded and continued changes nothing of what its successor wrote or persisted.

In the tier `test` workers are stopped among other faults: by `test_faults.py`, and in every life that is simulated.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.operations.jobs import launcher
from anabranch.sandbox import ClusterSpec, start_clusters
from qa.brokers import STEADY
from qa.faults.episode import watermarks
from qa.faults.load import Load
from qa.faults.proof import prove
from qa.faults.testbed import LINK, LinkTestbed
from qa.faults.topics import LoadTopic, create_topics
from qa.faults.worker_process import start_worker
from qa.timeouts import LONG_TIMEOUT_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
TOPICS = (LoadTopic("history", 2, old=True),)
FORGETFUL = {"producer.id.expiration.check.interval.ms": "1000", "producer.id.expiration.ms": "60000"}


def test_a_stopped_worker_neither_writes_nor_files_over_its_successor(tmp_path: Path) -> None:
    """Stopped while it copies, continued when its successor is done: the log and the persisted runs stay as they
    are.
    """
    source, target = start_clusters(
        (ClusterSpec("source", overrides=STEADY), ClusterSpec("target", overrides={**STEADY, **FORGETFUL}))
    )
    with source, target:
        testbed = LinkTestbed(tmp_path, source, target, lease_seconds=60, standalone=None, environment={})
        create_topics(source, TOPICS)
        testbed.create_link()
        load = Load(source.client_config(), TOPICS, 2000, 1)
        workers: list[subprocess.Popen[bytes]] = []

        def start() -> subprocess.Popen[bytes]:
            job = tmp_path / f"job-{len(workers)}.json"
            job.write_text(launcher.job_spec(testbed.target_context, testbed.source_context, LINK, 60))
            workers.append(start_worker(job))
            return workers[-1]

        def until(what: Callable[[], bool]) -> None:
            deadline = time.monotonic() + LONG_TIMEOUT_S
            while not what():
                assert all(worker.poll() is None for worker in workers), "a worker has ended by itself"
                assert time.monotonic() < deadline, "it did not happen"
                time.sleep(0.1)

        def rounds() -> int:
            return (tmp_path / "job-0.json.rounds").stat().st_size

        def owners() -> set[str]:
            return {lane.owner for lane in testbed.lanes()}

        def positions() -> dict[tuple[str, int], int]:
            return {(lane.source.topic, lane.source.partition): lane.position for lane in testbed.lanes()}

        try:
            first = start()
            until(lambda: min(watermarks(target, TOPICS).values(), default=0) > 1000 and len(owners()) == 1)
            first.send_signal(signal.SIGSTOP)
            stopped = owners()
            start()
            until(lambda: owners().isdisjoint(stopped))
            load.stop()
            ends = watermarks(source, TOPICS)
            until(lambda: positions() == ends)
            before = rounds()
            first.send_signal(signal.SIGCONT)
            until(lambda: rounds() >= before + 4)  # what it would write or persist, it has by then
            assert first.poll() is None
            proof = prove(source, target, testbed.target_context, LINK, TOPICS)
        finally:
            load.halt()
            for worker in workers:
                worker.kill()
                worker.wait()
    assert len(stopped) == 1
    assert proof.wrong == []
    assert proof.records == sum(ends.values())
