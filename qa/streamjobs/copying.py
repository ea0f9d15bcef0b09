"""A real link whose planner and worker are threads of this process, until it has copied all that there is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping

from anabranch.config.jobspec import LinkJob
from anabranch.copier.worker import Worker
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneMode
from anabranch.model.link import LinkSpec
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.create import LinkRefusedError
from anabranch.spark.link.leases import LeasePlanner
from qa import brokers, links
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

_LOOK_S = 0.2


class CopyError(Exception):
    """The link was refused, failed, or did not come to the end."""


def copy(
    spec: LinkSpec,
    source: ClusterContext,
    target: ClusterContext,
    ends: Mapping[TopicPartition, int],
    seconds: float = LONG_TIMEOUT_S,
) -> dict[TopicPartition, LaneMode]:
    """Create the link, run it until every partition was copied up to its end; returns the mode of each lane."""
    try:
        links.create(source, target, spec)
    except LinkRefusedError as error:
        raise CopyError(f"the link was refused: {error.errors}") from error
    job = LinkJob(spec.id, f"{spec.id}-run", source, target, 5)
    over = threading.Event()
    failures: list[BaseException] = []
    runner = threading.Thread(target=_run, args=(job, over, failures), daemon=True)
    runner.start()
    deadline = time.monotonic() + seconds
    try:
        while not failures and time.monotonic() < deadline:
            lanes = brokers.retry(lambda: links.show(target, spec.id)).lanes
            at = {lane.source: lane.position for lane in lanes}
            if all(at.get(partition, -1) >= end for partition, end in ends.items()):
                return {lane.source: lane.mode for lane in lanes}
            time.sleep(_LOOK_S)
    finally:
        over.set()
        runner.join(TIMEOUT_S)
    raise CopyError(f"the link {spec.id} ended with {failures}" if failures else f"not copied within {seconds:.0f} s")


def ends_of(bootstrap: str, topics: Iterable[str], partitions: int) -> dict[TopicPartition, int]:
    """The end of every partition, when no transaction is open any more."""
    config = {"bootstrap.servers": bootstrap}
    places = [(topic, number) for topic in topics for number in range(partitions)]
    brokers.await_markers(config, places)
    return {TopicPartition(*place): end for place, end in brokers.log_ends(config, places).items()}


def _run(job: LinkJob, over: threading.Event, failures: list[BaseException]) -> None:
    try:
        planner = LeasePlanner(job, 1)
        worker = Worker(job.source, job.target, job.run, lambda: not over.is_set())
        try:
            while not over.is_set():
                for lease in planner.leases(time.time_ns() // 1_000_000):
                    for _ in worker.run(lease):
                        if over.is_set():
                            break
        finally:
            worker.close()
            planner.close()
    except BaseException as error:
        failures.append(error)
