"""The data source ``anabranch-kafka`` of Spark's Python Data Source API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from anabranch.spark.streams.kafka_sink.errors import NotRegisteredError
from anabranch.spark.streams.kafka_sink.messages import Address, CoordinatorClient
from anabranch.spark.streams.kafka_sink.rows import check_columns
from anabranch.spark.streams.kafka_sink.settings import FORMAT, SinkSettings
from anabranch.spark.streams.kafka_sink.task import TaskOfBatch, write_task
from anabranch.streams.transaction import TaskReport


class KafkaSink(DataSource):  # type: ignore[misc]  # pyspark is not followed
    """The sink without a coordinator; ``register`` makes a class of it that has one."""

    coordinator: ClassVar[Address | None] = None

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> KafkaSinkWriter:  # noqa: ARG002 - Spark's interface
        """The writer; raises KafkaSinkOptionError, SinkColumnError, NotRegisteredError."""
        settings = SinkSettings.of(self.options)
        check_columns(schema, settings.topic)
        if self.coordinator is None:
            raise NotRegisteredError
        return KafkaSinkWriter(self.coordinator, settings)


@dataclass(frozen=True)
class WrittenTask(WriterCommitMessage):  # type: ignore[misc]  # pyspark is not followed
    """What a task tells the commit; ``report`` is None where the cluster had the batch already."""

    task: TaskOfBatch
    report: TaskReport | None


class KafkaSinkWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]  # pyspark is not followed
    """Writes in the tasks, commits on the driver."""

    def __init__(self, coordinator: Address, settings: SinkSettings) -> None:
        self._coordinator = coordinator
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenTask:
        """Write a task's rows into the batch's transaction."""
        return WrittenTask(*write_task(self._coordinator, self._settings, iterator))

    def commit(self, messages: Sequence[WrittenTask | None], batchId: int) -> None:
        """Commit the batch's transaction; raises CoordinatorRefusedError, CoordinatorGoneError."""
        told = [message for message in messages if message is not None]
        if all(message.report is None for message in told):
            return  # the cluster has the batch, or there is no task that could have written
        reports = [
            [message.report.transaction, message.report.task, message.report.records]
            for message in told
            if message.report is not None
        ]
        asyncio.run(self._tell(told[0].task, do="commit", batch=batchId, reports=reports))

    def abort(self, messages: Sequence[WrittenTask | None], batchId: int) -> None:
        """Give the batch up.  Where no task has reported, the coordinator has seen each one's end itself."""
        task = next((message.task for message in messages if message is not None and message.report is not None), None)
        if task is not None:
            asyncio.run(self._tell(task, do="abort", batch=batchId))

    async def _tell(self, task: TaskOfBatch, **question: Any) -> None:
        caller = await CoordinatorClient.open(self._coordinator)
        try:
            await caller.ask(query=task.query, run=task.run, **question)
        finally:
            caller.close()
