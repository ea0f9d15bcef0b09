"""One start of a query at the sink: it owns the transactional id, and leads the transactions of its batches.

Invariants
    E1  The id is taken over once, before anything is written, and only after that is the cluster asked which batch
    it has:
        nothing of an earlier start can be committed later.
    E2  The batch's number is committed in the transaction that holds its records.
    E3  Once the id is lost, or a commit's outcome is not known, this start writes nothing more.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.security import open_cluster
from anabranch.kafka.transactional import (
    FencedError,
    TransactionalProducer,
    add_partitions,
    commit_note,
    end,
    notes,
    patiently,
    take_over,
)
from anabranch.model.topics import TopicPartition
from anabranch.spark.streams.kafka_sink.errors import LaterBatchError, SinkRowError, StaleRunError
from anabranch.spark.streams.kafka_sink.settings import SinkSettings
from anabranch.spark.streams.sinks.port import SinkCounts
from anabranch.streams.transaction import (
    BatchTransaction,
    SharedBatchState,
    SpoiledError,
    TaskAttempt,
    TaskReport,
    Turn,
    WriteClaim,
)
from anabranch.streams.written import WrittenBatch, is_due, newest


class SinkSession:
    """A start of a query; ``open`` makes one.  Everything in it runs in one event loop."""

    def __init__(
        self,
        query: str,
        settings: SinkSettings,
        cluster: Cluster,
        producer: TransactionalProducer,
        written: WrittenBatch | None,
        place: TopicPartition | None,
        counts: SinkCounts,
    ) -> None:
        self.counts = counts
        self.query = query
        self.producer = producer
        self._settings = settings
        self._cluster = cluster
        self._written = written
        self._place = place
        self._transaction: BatchTransaction | None = None
        self._size = 0
        self._counted = ""
        self._added: set[TopicPartition] = set()
        self._layout: dict[str, int] = {}
        self._changed = asyncio.Condition()
        self._adding = asyncio.Lock()
        self._committing = asyncio.Lock()
        self._aborting: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, query: str, settings: SinkSettings, counts: SinkCounts) -> SinkSession:
        """Take the transactional id over and learn which batch the cluster has (E1); raises ClusterError and more.

        In ``counts`` it counts what it commits, what it aborts and how often it asks again.
        """

        def retried() -> None:
            counts.retries += 1

        cluster = open_cluster(settings.context)
        name = settings.id_of(query)
        try:
            producer = await take_over(cluster, name, settings.timeout_ms, retried)
            told = await notes(cluster, name, settings.topic)
            written = newest(name, told.values(), query)
        except BaseException:
            cluster.close()
            raise
        return cls(query, settings, cluster, producer, written, min(told, default=None), counts)

    def close(self) -> None:
        """End its connections; an open transaction is left to the next start, which takes it over."""
        self._cluster.close()

    # -- what tasks ask ----------------------------------------------------------------------------------

    def begin(self, batch: int) -> BatchTransaction | None:
        """The transaction of a batch; None where the cluster has the batch already.

        Raises UnknownBatchError, CheckpointBehindError, SpoiledError, StaleRunError, LaterBatchError.
        """
        current = self._transaction
        if current is not None and current.batch == batch:
            if current.state is SharedBatchState.SPOILED:
                raise SpoiledError(batch, current.why)
            return current
        if current is not None and current.state is not SharedBatchState.COMMITTED:
            if batch < current.batch:
                raise StaleRunError(self.query, f"batch {batch}")
            self._spoil(current, "the next batch has begun")
            raise LaterBatchError(self.query, batch, current.batch)
        if not is_due(self._written, self.query, batch, self._settings.first_batch):
            return None
        name = f"{self.producer.producer_id}:{self.producer.epoch}:{batch}"
        self._transaction = BatchTransaction(name, batch, current.sequences if current is not None else {})
        self._added, self._layout, self._size = set(), {}, 0
        return self._transaction

    async def layout(self, topics: Collection[str]) -> dict[str, int]:
        """How many partitions topics have; the same answer for all tasks of a batch.  Raises ClusterError."""
        layout = self._layout
        missing = [topic for topic in topics if topic not in layout]
        if missing:
            for name, count in (await patiently(lambda: self._partitions(missing), self._retried)).items():
                layout.setdefault(name, count)
        for name in topics:
            if not layout[name]:
                raise SinkRowError(f"topic {name} has no partition")
        return {name: layout[name] for name in topics}

    async def _partitions(self, topics: Collection[str]) -> dict[str, int]:
        metadata = await self._cluster.metadata(topics)
        for name in topics:
            self._cluster.check(metadata.topics[name].error, "Write", f"topic {name}")
        return {name: len(metadata.topics[name].partitions) for name in topics}

    async def claim(self, transaction: BatchTransaction, attempt: TaskAttempt) -> TaskReport | None:
        """Wait until the attempt may write; its task's report where another attempt has written it meanwhile."""
        while (told := transaction.claim(attempt)) is WriteClaim.WAIT:
            await self._change()
        return transaction.report_of(attempt.task) if told is WriteClaim.WRITTEN else None

    async def turns(
        self, transaction: BatchTransaction, attempt: TaskAttempt, wanted: Collection[TopicPartition]
    ) -> tuple[Turn, ...]:
        """Wait for turns at some of these partitions, which are then within the transaction; raises ClusterError."""
        while not (found := transaction.take(attempt, wanted)):
            await self._change()
        try:
            async with self._adding:
                new = {turn.partition for turn in found} - self._added
                if new:
                    # With what the task will want next: a request adds many partitions as fast as one.
                    new = set(wanted) - self._added
                    await add_partitions(self._cluster, self.producer, new, self._retried)
                    self._added |= new
        except AnabranchError as error:
            await self.spoil(transaction, error.message)
            raise
        return found

    async def give_back(
        self, transaction: BatchTransaction, attempt: TaskAttempt, written: Iterable[tuple[TopicPartition, int]]
    ) -> None:
        """Turns end."""
        for partition, records in written:
            transaction.give_back(attempt, partition, records)
        await self.changed()

    async def finish(self, transaction: BatchTransaction, attempt: TaskAttempt, size: int) -> TaskReport:
        """The task is written, in so many bytes."""
        report = transaction.finish(attempt)
        if transaction is self._transaction:
            self._size += size
        await self.changed()
        return report

    async def lose(self, transaction: BatchTransaction, attempt: TaskAttempt) -> None:
        """The attempt is heard no more."""
        transaction.lose(attempt)
        if transaction.state is SharedBatchState.SPOILED:
            await self.spoil(transaction, transaction.why)
        await self.changed()

    # -- how a transaction ends --------------------------------------------------------------------------

    async def commit(self, batch: int, reports: list[TaskReport]) -> int:
        """Commit the batch's transaction with the batch's number in it (E2); the number of its records.

        Raises SpoiledError, FencedError, ClusterError: then the batch may or may not be there, and this start is
        over (E3).
        """
        async with self._committing:
            transaction = self._transaction
            if transaction is None or transaction.batch != batch:
                raise StaleRunError(self.query, f"batch {batch}")
            try:
                records = transaction.commit(reports)
            except SpoiledError as error:
                await self.spoil(transaction, error.why)
                raise
            if transaction.state is not SharedBatchState.COMMITTED:
                try:
                    await self._commit(transaction)
                except AnabranchError as error:
                    self._failed(transaction)
                    transaction.spoil(f"its commit failed: {error.message}")
                    raise
                transaction.committed()
                self.counts.records += records
                self.counts.bytes = (self.counts.bytes or 0) + self._size
                self.counts.last_batch = batch
                self._written = WrittenBatch(self.query, batch)
            return records

    async def _commit(self, transaction: BatchTransaction) -> None:
        place = self._note_place()
        if place is None:
            return  # no record, and no topic is known: there is nothing that could be written twice
        note = WrittenBatch(self.query, transaction.batch).to_text()
        owner = self.producer
        await commit_note(self._cluster, owner, owner.transactional_id, place, note, self._retried)
        await end(self._cluster, owner, commit=True, retried=self._retried)

    def _note_place(self) -> TopicPartition | None:
        """Where the batch's number is committed: the first partition of a topic that is there."""
        if self._settings.topic is not None:
            return TopicPartition(self._settings.topic, 0)
        if self._added:
            self._place = TopicPartition(min(self._added).topic, 0)
        return self._place

    async def abort(self, batch: int) -> None:
        """The query has given the batch up; what is committed stays so."""
        transaction = self._transaction
        if (
            transaction is not None
            and transaction.batch == batch
            and transaction.state in (SharedBatchState.OPEN, SharedBatchState.SPOILED)
        ):
            await self.spoil(transaction, "the query has given the batch up")
            await self.aborted()

    async def spoil(self, transaction: BatchTransaction, why: str) -> None:
        """Abort the transaction, so that no reader waits for it; its writers are refused from then on."""
        self._spoil(transaction, why)
        await self.changed()

    def _retried(self) -> None:
        self.counts.retries += 1

    def _failed(self, transaction: BatchTransaction) -> None:
        """Count a transaction that is not committed, once."""
        self.counts.errors += transaction.name != self._counted
        self._counted = transaction.name

    def _spoil(self, transaction: BatchTransaction, why: str) -> None:
        self._failed(transaction)
        transaction.spoil(why)
        if self._aborting is None and transaction is self._transaction and self._added:
            self._aborting = asyncio.get_running_loop().create_task(self._abort())

    async def _abort(self) -> None:
        """Abort by a new epoch, which the abort's markers carry: what a lost task still sends is refused.

        A later owner is not disturbed: the first request is refused where there is one.
        """
        with contextlib.suppress(AnabranchError):  # the next start does it
            try:
                await add_partitions(self._cluster, self.producer, self._added)
            except FencedError:
                return
            await take_over(self._cluster, self.producer.transactional_id, self._settings.timeout_ms)

    async def aborted(self) -> None:
        """Wait until an abort that has begun is over."""
        if self._aborting is not None:
            await asyncio.shield(self._aborting)

    async def changed(self) -> None:
        """Wake whoever waits."""
        async with self._changed:
            self._changed.notify_all()

    async def _change(self) -> None:
        async with self._changed:
            await self._changed.wait()
