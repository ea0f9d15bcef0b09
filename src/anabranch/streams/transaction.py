"""Who may write what when in the one Kafka transaction of a micro-batch, which many tasks share.

A *task* is a partition of the micro-batch, by its number; an *attempt* is one execution of it.  A *turn* is the right
to append to a target partition, from a sequence on, which one attempt has at a time.

Invariants
    T1  At most one attempt of a task is ever given a turn in a transaction.
    T2  At most one attempt has the turn of a partition, and a turn's sequence is where the turn before it ended: each
        partition's sequences are one line without gap or repetition, also from one transaction to the next.
    T3  Where an attempt ends without its report after it was given a turn, nobody knows what it has written: the
        transaction is spoiled.  A spoiled transaction gives no turn and is never committed.
    T4  A transaction is committed only with exactly one report of each of its tasks, each from this transaction, while
        nobody has a turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from anabranch.errors import AnabranchError, ProtocolError
from anabranch.model.topics import TopicPartition
from anabranch.records.sequence import advance


class SharedBatchState(StrEnum):
    """Where a transaction is; only an open one gives turns."""

    OPEN = "open"
    SPOILED = "spoiled"
    COMMITTING = "committing"
    COMMITTED = "committed"


class TaskAttempt(NamedTuple):
    """One execution of a task; ``execution`` is unique in the query."""

    task: int
    execution: str


class Turn(NamedTuple):
    """The right to append to a partition, the first record with this sequence."""

    partition: TopicPartition
    sequence: int


class WriteClaim(StrEnum):
    """What an attempt is told that has its records ready."""

    WRITE = "write"
    WAIT = "wait"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task's records are in this transaction."""

    transaction: str
    task: int
    records: int


@dataclass(eq=False)
class SpoiledError(AnabranchError):
    """The transaction cannot be committed, and the batch has to be written again by the query's next start."""

    batch: int
    why: str

    retryable = True

    _message = "batch {batch} is not written: {why}; its transaction is aborted, and no reader sees any of it"
    _hint = "start the query again from its checkpoint: it writes the batch once"


@dataclass(eq=False)
class TurnError(ProtocolError):
    """An attempt asked for, or gave back, what it may not."""

    batch: int
    task: int
    problem: str

    _message = "batch {batch}, task {task}: {problem}"


class BatchTransaction:
    """The transaction of one micro-batch; ``sequences`` are the next ones of the partitions written before."""

    def __init__(self, name: str, batch: int, sequences: Mapping[TopicPartition, int]) -> None:
        self.name = name
        self.batch = batch
        self.state = SharedBatchState.OPEN
        self.why = ""
        self.sequences = dict(sequences)
        self._writers: dict[int, TaskAttempt] = {}
        self._began: set[int] = set()
        self._turns: dict[TopicPartition, TaskAttempt] = {}
        self._records: dict[int, int] = {}
        self._reports: dict[int, TaskReport] = {}

    @property
    def records(self) -> int:
        """How many records the tasks that have reported wrote."""
        return sum(report.records for report in self._reports.values())

    def claim(self, attempt: TaskAttempt) -> WriteClaim:
        """Whether this attempt is the one that writes its task (T1).

        Another attempt waits while the one that writes lives, and is told when it has written everything.
        """
        self._check_open()
        if attempt.task in self._reports:
            return WriteClaim.WRITTEN
        writer = self._writers.setdefault(attempt.task, attempt)
        return WriteClaim.WRITE if writer == attempt else WriteClaim.WAIT

    def take(self, attempt: TaskAttempt, wanted: Collection[TopicPartition]) -> tuple[Turn, ...]:
        """A fair share of the turns that are free among those wanted; empty where none is (T2)."""
        self._check_writer(attempt)
        free = sorted(partition for partition in wanted if partition not in self._turns)
        writing = len(self._writers) - len(self._reports)
        share = free[: max(1, len(wanted) // max(1, writing))]
        for partition in share:
            self._turns[partition] = attempt
            self._began.add(attempt.task)
        return tuple(Turn(partition, self.sequences.get(partition, 0)) for partition in share)

    def give_back(self, attempt: TaskAttempt, partition: TopicPartition, records: int) -> None:
        """The attempt's turn ends, and the brokers have acknowledged so many records of it (T2)."""
        self._check_writer(attempt)
        if self._turns.get(partition) != attempt:
            raise TurnError(self.batch, attempt.task, f"it has no turn at {partition}")
        if records < 0:
            raise TurnError(self.batch, attempt.task, f"{records} records at {partition}")
        del self._turns[partition]
        self.sequences[partition] = advance(self.sequences.get(partition, 0), records)
        self._records[attempt.task] = self._records.get(attempt.task, 0) + records

    def finish(self, attempt: TaskAttempt) -> TaskReport:
        """All records of the task are written."""
        self._check_writer(attempt)
        if attempt in self._turns.values():
            raise TurnError(self.batch, attempt.task, "it ends while it has a turn")
        report = TaskReport(self.name, attempt.task, self._records.get(attempt.task, 0))
        self._reports[attempt.task] = report
        return report

    def report_of(self, task: int) -> TaskReport:
        """What the task has reported; KeyError before it has."""
        return self._reports[task]

    def lose(self, attempt: TaskAttempt, why: str = "") -> None:
        """The attempt has ended or is not heard any more; after its report that says nothing (T3)."""
        if self._writers.get(attempt.task) != attempt or attempt.task in self._reports:
            return
        if attempt.task in self._began:
            self.spoil(why or f"task {attempt.task} ended while it wrote")
        else:
            del self._writers[attempt.task]

    def spoil(self, why: str) -> None:
        """Give no further turn, and never commit; what is committed already stays so."""
        if self.state is not SharedBatchState.COMMITTED:
            self.state, self.why = SharedBatchState.SPOILED, self.why or why

    def commit(self, reports: Iterable[TaskReport]) -> int:
        """The number of records to commit, with what the query has of its tasks (T4); asked again, it says the same.

        Raises SpoiledError, and spoils the transaction, where a report is missing, too many or of another one.
        """
        told = list(reports)
        if self.state is not SharedBatchState.COMMITTED:
            self._check_open()
        problem = ""
        if self._turns:
            problem = "a task is still writing"
        elif len({report.task for report in told}) != len(told):
            problem = "a task has reported twice"
        elif {report.task: report for report in told} != self._reports:
            problem = f"of the {len(told)} tasks of the query, {len(self._reports)} have written into this transaction"
        if problem:
            self.spoil(problem)
            raise SpoiledError(self.batch, problem)
        if self.state is SharedBatchState.OPEN:
            self.state = SharedBatchState.COMMITTING
        return self.records

    def committed(self) -> None:
        """The coordinator has answered that the transaction is committed."""
        self.state = SharedBatchState.COMMITTED

    def _check_open(self) -> None:
        if self.state is SharedBatchState.SPOILED:
            raise SpoiledError(self.batch, self.why)

    def _check_writer(self, attempt: TaskAttempt) -> None:
        self._check_open()
        if self.state is not SharedBatchState.OPEN:
            raise TurnError(self.batch, attempt.task, f"the transaction is {self.state}")
        if self._writers.get(attempt.task) != attempt or attempt.task in self._reports:
            raise TurnError(self.batch, attempt.task, "another attempt writes, or this one has ended")
