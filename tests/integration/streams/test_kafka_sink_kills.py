"""The exactly-once sink while its driver, its workers or its broker are killed, at each point of a transaction.

What is there in the end is read by librdkafka, as a reader of committed records; what should be there is known from the
files that the query read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import create_topics
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.streams.sink_job import FAILED, JobSpec
from tests.integration.streams.sink_lab import (
    BATCH,
    FILES,
    PARTITIONS,
    batches,
    check_exact,
    committed,
    is_whole,
    log_tail,
    make_lines,
    run_job,
    start_job,
)

pytestmark = [pytest.mark.full, pytest.mark.real]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SandboxCluster]:
    """A broker that tests kill."""
    with SandboxCluster.start(ClusterSpec("sink")) as made:
        yield made


@pytest.fixture
def topic(cluster: SandboxCluster) -> str:
    """A new one."""
    name = f"out-{next(_numbers)}"
    create_topics(cluster, [NewTopic(name, PARTITIONS, 1)])
    return name


@pytest.mark.parametrize(
    ("point", "count", "left"),
    [
        ("begun", 1, 0),
        ("turn", 1, 0),
        ("turn", 5, None),
        ("written", 1, 0),
        ("written", 4, 1),
        ("commit", 2, 1),
        ("noted", 2, 1),
        ("ended", 1, 1),
        ("ended", 3, 3),
    ],
)
def test_a_driver_that_is_killed_anywhere_leaves_whole_batches_and_its_next_start_ends_the_work(
    cluster: SandboxCluster, topic: str, tmp_path: Path, point: str, count: int, left: int | None
) -> None:
    """SIGKILL before the first record, within a batch, before the commit, and after it, when Spark has not noted it.

    ``left`` is the number of batches that readers see after the kill; None where it depends on how turns are shared.
    """
    make_lines(tmp_path)
    log = tmp_path / "log"
    spec = JobSpec(cluster.internal_bootstrap, topic, str(tmp_path), point, count, "driver").write()
    assert run_job(spec, log) == -9, "\n".join(log_tail(log))
    # A coordinator answers that it will commit; the markers that show it to readers come right after.
    until(lambda: is_whole(found := committed(cluster, topic)) and left in (None, len(batches(found))))
    assert run_job(spec, log) == 0, "\n".join(log_tail(log))
    until(lambda: sum(batches(committed(cluster, topic)).values()) >= FILES // 2 * BATCH)
    check_exact(committed(cluster, topic))


@pytest.mark.parametrize(("point", "count"), [("turn", 1), ("turn", 4), ("written", 3)])
def test_workers_that_are_killed_while_they_write_spoil_the_batch_which_the_next_start_writes(
    cluster: SandboxCluster, topic: str, tmp_path: Path, point: str, count: int
) -> None:
    """Spark's further attempts are refused, the transaction is aborted at once, and the query fails with the reason."""
    make_lines(tmp_path)
    log = tmp_path / "log"
    spec = JobSpec(cluster.internal_bootstrap, topic, str(tmp_path), point, count, "workers").write()
    code = run_job(spec, log)
    assert (tmp_path / "killed").exists()
    assert is_whole(committed(cluster, topic))
    if code != 0:  # else the tasks had been done with by the time of the kill
        assert code == FAILED, "\n".join(log_tail(log))
        assert "its transaction is aborted" in log.read_text()
        assert run_job(spec, log) == 0, "\n".join(log_tail(log))
    until(lambda: sum(batches(committed(cluster, topic)).values()) >= FILES // 2 * BATCH)
    check_exact(committed(cluster, topic))


def test_a_task_that_is_killed_while_it_computes_is_tried_again_by_spark_in_the_same_batch(
    cluster: SandboxCluster, topic: str, tmp_path: Path
) -> None:
    """It has written nothing, so that the query does not even fail."""
    make_lines(tmp_path)
    log = tmp_path / "log"
    spec = JobSpec(cluster.internal_bootstrap, topic, str(tmp_path), victim="computing").write()
    assert run_job(spec, log) == 0, "\n".join(log_tail(log))
    assert (tmp_path / "killed").exists()
    until(lambda: sum(batches(committed(cluster, topic)).values()) >= FILES // 2 * BATCH)
    check_exact(committed(cluster, topic))


@pytest.mark.parametrize(
    ("point", "count"),
    [("layout", 2), ("begun", 1), ("turn", 1), ("turn", 5), ("commit", 2), ("noted", 2), ("ended", 2)],
)
def test_a_broker_that_is_killed_and_comes_back_is_waited_for(
    cluster: SandboxCluster, topic: str, tmp_path: Path, point: str, count: int
) -> None:
    """The same bytes are sent again, the transaction goes on, and the query does not fail."""
    make_lines(tmp_path)
    log = tmp_path / "log"
    spec = JobSpec(cluster.internal_bootstrap, topic, str(tmp_path), point, count, "broker").write()
    with start_job(spec, log) as job:
        try:
            until(lambda: (tmp_path / "killed").exists() or job.poll() is not None)
            broker = cluster.broker(next(iter(cluster.layout.nodes)).node_id)
            broker.kill()
            (tmp_path / "go").touch()
            broker.start()
            cluster.wait_ready()
            assert job.wait(LONG_TIMEOUT_S) == 0, "\n".join(log_tail(log))
        finally:
            job.kill()
    until(lambda: sum(batches(committed(cluster, topic)).values()) >= FILES // 2 * BATCH)
    check_exact(committed(cluster, topic))
