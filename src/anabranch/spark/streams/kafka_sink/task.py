"""What one attempt of a task does: encode all its rows, and only then write them, turn by turn.

A computation that fails has written nothing, so that Spark's next attempt can write the task.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.coordinators import together
from anabranch.kafka.security import open_cluster
from anabranch.kafka.transactional import TransactionalProducer
from anabranch.kafka.transactional_write import PartitionWriter
from anabranch.model.topics import TopicPartition
from anabranch.spark.streams.kafka_sink.errors import NoQueryError
from anabranch.spark.streams.kafka_sink.messages import Address, CoordinatorClient
from anabranch.spark.streams.kafka_sink.rows import RecordEncoder
from anabranch.spark.streams.kafka_sink.settings import SinkSettings
from anabranch.spark.streams.kafka_sink.spool import Spool
from anabranch.streams.transaction import TaskReport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskOfBatch:
    """Which task of which batch this process runs."""

    query: str
    run: str
    batch: int
    task: int
    execution: str

    @classmethod
    def current(cls) -> TaskOfBatch:
        """As Spark tells it to its tasks; raises NoQueryError where this is no task of a streaming query."""
        context = TaskContext.get()
        told = [
            None if context is None else context.getLocalProperty(name)
            for name in ("sql.streaming.queryId", "spark.jobGroup.id", "streaming.sql.batchId")
        ]
        if context is None or None in told:
            raise NoQueryError
        query, run, batch = map(str, told)
        execution = f"{context.stageId()}/{context.attemptNumber()}/{context.taskAttemptId()}"
        return cls(query, run, int(batch), context.partitionId(), execution)


def write_task(
    address: Address, settings: SinkSettings, batches: Iterable[pa.RecordBatch]
) -> tuple[TaskOfBatch, TaskReport | None]:
    """Write the rows of the task that runs here; its report is None where the cluster has the batch already.

    Raises CoordinatorRefusedError, CoordinatorGoneError, SinkRowError, FencedError, ClusterError.
    """
    return _process.write(address, settings, TaskOfBatch.current(), batches)


class _Process:
    """This process' event loop and clusters: Spark runs task after task in it, and connections stay open meanwhile."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clusters: dict[str, Cluster] = {}

    def write(
        self, address: Address, settings: SinkSettings, task: TaskOfBatch, batches: Iterable[pa.RecordBatch]
    ) -> tuple[TaskOfBatch, TaskReport | None]:
        with self._caller(address) as caller, Spool() as spool:
            begun = self._do(
                caller.ask(
                    do="begin",
                    query=task.query,
                    run=task.run,
                    batch=task.batch,
                    task=task.task,
                    execution=task.execution,
                    settings=settings.to_fields(),
                )
            )
            if not begun["due"]:
                for _ in batches:
                    pass  # operators above keep their state while their rows are read
                return task, None

            def layout(topics: Iterable[str]) -> dict[str, int]:
                return dict(self._do(caller.ask(do="layout", topics=list(topics)))["partitions"])

            encoder = RecordEncoder(spool, settings.codec, settings.topic, layout, task.task + task.batch)
            encoder.add_all(batches)
            report = self._do(_write(caller, self._cluster(settings), spool))
            return task, report

    @contextmanager
    def _caller(self, address: Address) -> Iterator[CoordinatorClient]:
        caller = self._do(CoordinatorClient.open(address))
        try:
            yield caller
        finally:
            caller.close()
            self._do(asyncio.sleep(0))

    def _cluster(self, settings: SinkSettings) -> Cluster:
        key = json.dumps(settings.to_fields()["context"], sort_keys=True)
        if key not in self._clusters:
            self._clusters[key] = open_cluster(settings.context)
        return self._clusters[key]

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(work)


_process = _Process()


async def _write(caller: CoordinatorClient, cluster: Cluster, spool: Spool) -> TaskReport:
    claimed = await caller.ask(do="claim")
    if claimed["report"] is not None:
        return TaskReport(*claimed["report"])
    producer = TransactionalProducer(*claimed["producer"])
    writer = PartitionWriter(cluster)
    left = set(spool.partitions)
    written: list[list[Any]] = []
    size = retries = 0
    while left:
        wanted = [[one.topic, one.partition] for one in sorted(left)]
        answer = await caller.ask(do="turns", wanted=wanted, written=written, retries=writer.retries - retries)
        retries = writer.retries
        turns = [(TopicPartition(topic, number), sequence) for topic, number, sequence in answer["turns"]]
        await together(
            writer.write(partition, producer, spool.sealed(partition, producer, sequence))
            for partition, sequence in turns
        )
        written = [[one.topic, one.partition, spool.count(one)] for one, _ in turns]
        size += sum(spool.size(one) for one, _ in turns)
        left -= {partition for partition, _ in turns}
    finished = await caller.ask(do="finish", written=written, bytes=size, retries=writer.retries - retries)
    return TaskReport(*finished["report"])
