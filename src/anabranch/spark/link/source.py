"""Leases as a streaming source: each micro-batch plans the link's lanes and hands them to tasks.

A partition of a micro-batch is a lease; reading it copies its lanes until the lease is over, and the rows that
come out are the figures of that time and of the time since the lease before, when the worker copied on
(:mod:`anabranch.copier.worker`).  The stream's offset is only a number that grows: Spark's checkpoint
plans work, the target's log is the state.  Records never pass through the JVM.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from anabranch.config.jobspec import LinkJob
from anabranch.copier.planning import assignments
from anabranch.copier.planning.lease import Lease, PlanBasis
from anabranch.copier.worker import Worker
from anabranch.model.clock import now_ms
from anabranch.spark.link.leases import LeasePlanner
from anabranch.spark.link.slots import SlotsFile

FORMAT = "anabranch"
SCHEMA = (
    "owner string, batch bigint, slot int, lanes int, running int, stopped int, "
    "records bigint, bytes bigint, over string"
)
_ARROW = pa.schema(
    [
        ("owner", pa.string()),
        ("batch", pa.int64()),
        ("slot", pa.int32()),
        ("lanes", pa.int32()),
        ("running", pa.int32()),
        ("stopped", pa.int32()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("over", pa.string()),
    ]
)


class LeaseSource(DataSource):  # type: ignore[misc]  # pyspark is not followed
    """``format("anabranch")`` with the options ``job`` (JSON of a LinkJob) and ``slots`` (the path of a SlotsFile)."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """One row per worker and second: what it copied since the row before."""
        return SCHEMA

    def streamReader(self, schema: Any) -> LeaseReader:  # noqa: ARG002 - Spark's interface
        """The reader; made on the driver, and pickled to the tasks."""
        return LeaseReader(self.options["job"], self.options["slots"])


@dataclass
class LeasePartition(InputPartition):  # type: ignore[misc]  # pyspark is not followed
    """One lease on its way to a task."""

    lease: Lease

    def __reduce__(self) -> tuple[Any, ...]:
        lease = self.lease
        lanes = tuple(assignments.encode(lane) for lane in lease.lanes)
        fields = (lease.link, lease.run, lease.batch, lease.slot, lease.slots, lease.seconds, lanes)
        return _partition, (*fields, dict(lease.homes), lease.basis)


def _partition(
    link: str,
    run: str,
    batch: int,
    slot: int,
    slots: int,
    seconds: float,
    lanes: tuple[str, ...],
    homes: dict[str, str],
    basis: PlanBasis | None,
) -> LeasePartition:
    decoded = tuple(assignments.decode(lane) for lane in lanes)
    return LeasePartition(Lease(link, run, batch, slot, slots, seconds, decoded, homes, basis))


class LeaseReader(DataSourceStreamReader):  # type: ignore[misc]  # pyspark is not followed
    """Plans on the driver, copies in the tasks."""

    def __init__(self, job: str, slots: str) -> None:
        self._job = job
        self._slots = slots
        self._planner: LeasePlanner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_job": self._job, "_slots": self._slots, "_planner": None}

    def initialOffset(self) -> dict[str, int]:
        """Before the first lease."""
        return {"lease": 0}

    def latestOffset(self) -> dict[str, int]:
        """There is always another lease: the clock, since a new run must not repeat an old run's number."""
        return {"lease": now_ms()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:  # noqa: ARG002
        """Plan the lanes and spread them over the tasks."""
        if self._planner is None:
            self._planner = LeasePlanner(LinkJob.from_json(self._job), 1)
        self._planner.slots = SlotsFile(Path(self._slots)).take()
        return [LeasePartition(lease) for lease in self._planner.leases(end["lease"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Copy a lease's lanes in this task."""
        assert isinstance(partition, LeasePartition)
        lease = partition.lease
        worker = _worker(self._job)
        for figures in worker.run(lease):
            yield pa.RecordBatch.from_pylist(
                [
                    {
                        "owner": figures.owner,
                        "batch": lease.batch,
                        "slot": lease.slot,
                        "lanes": figures.lanes,
                        "running": figures.running,
                        "stopped": figures.stopped,
                        "records": figures.records,
                        "bytes": figures.bytes,
                        "over": figures.over,
                    }
                ],
                schema=_ARROW,
            )


_workers: dict[str, Worker] = {}


def _worker(job: str) -> Worker:
    """This process' worker for a job: Spark reuses Python workers, and with them connections and claims."""
    worker = _workers.get(job)
    if worker is None:
        spec = LinkJob.from_json(job)
        parent = os.getppid()
        worker = Worker(spec.source, spec.target, spec.run, lambda: os.getppid() == parent)
        _workers[job] = worker
    return worker
