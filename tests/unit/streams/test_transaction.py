"""The turns of one transaction that many tasks share: invariants T1 to T4 under any order of events."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anabranch.model.topics import TopicPartition
from anabranch.records.sequence import MODULUS, advance
from anabranch.streams.transaction import (
    BatchTransaction,
    SharedBatchState,
    SpoiledError,
    TaskAttempt,
    TaskReport,
    Turn,
    TurnError,
    WriteClaim,
)
from tests.chance import examples

pytestmark = pytest.mark.unit
TASKS = range(3)
PARTITIONS = [TopicPartition("t", number) for number in range(3)]
FIRST = MODULUS - 5
"""So near to its end a sequence begins, that it begins again at 0."""


class SharedTransaction(RuleBasedStateMachine):
    """Attempts begin, write, report and vanish in any order; a log for each partition takes what a turn allows."""

    def __init__(self) -> None:
        super().__init__()
        self.log = dict.fromkeys(PARTITIONS, FIRST)
        self.transaction = BatchTransaction("1:0:7", 7, self.log)
        self.executions = 0
        self.living: list[TaskAttempt] = []
        self.wrote: dict[int, set[TaskAttempt]] = {task: set() for task in TASKS}
        self.turns: dict[TopicPartition, tuple[TaskAttempt, Turn]] = {}
        self.written: dict[TaskAttempt, int] = {}
        self.reports: dict[int, TaskReport] = {}
        self.lost_writer = False

    @rule(task=st.sampled_from(TASKS))
    def begin(self, task: int) -> None:
        self.executions += 1
        self.living.append(TaskAttempt(task, str(self.executions)))

    @precondition(lambda self: self.living)
    @rule(data=st.data(), wanted=st.sets(st.sampled_from(PARTITIONS), min_size=1))
    def take(self, data: st.DataObject, wanted: set[TopicPartition]) -> None:
        attempt = data.draw(st.sampled_from(self.living))
        try:
            claim = self.transaction.claim(attempt)
        except SpoiledError:
            assert self.lost_writer
            return
        assert (claim is WriteClaim.WRITTEN) == (attempt.task in self.reports)
        if claim is not WriteClaim.WRITE:
            return
        for turn in self.transaction.take(attempt, wanted):
            assert turn.partition not in self.turns, "T2"
            assert turn.sequence == self.log[turn.partition], "T2"
            self.turns[turn.partition] = attempt, turn
            self.wrote[attempt.task].add(attempt)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), records=st.integers(0, 4))
    def give_back(self, data: st.DataObject, records: int) -> None:
        partition = data.draw(st.sampled_from(sorted(self.turns)))
        attempt, turn = self.turns[partition]
        try:
            self.transaction.give_back(attempt, partition, records)
        except SpoiledError:
            assert self.lost_writer
            return
        del self.turns[partition]
        self.log[partition] = advance(turn.sequence, records)
        self.written[attempt] = self.written.get(attempt, 0) + records

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(self.living))
        has_turn = any(owner == attempt for owner, _ in self.turns.values())
        try:
            report = self.transaction.finish(attempt)
        except (TurnError, SpoiledError):
            return
        assert not has_turn and attempt.task not in self.reports
        assert report.records == self.written.get(attempt, 0)
        self.reports[attempt.task] = report

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def vanish(self, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(self.living))
        self.living.remove(attempt)
        if attempt in self.wrote[attempt.task] and attempt.task not in self.reports:
            self.lost_writer = True
        self.transaction.lose(attempt)

    @invariant()
    def one_attempt_writes_a_task(self) -> None:
        assert all(len(attempts) <= 1 for attempts in self.wrote.values()), "T1"

    @invariant()
    def a_lost_writer_spoils(self) -> None:
        assert (self.transaction.state is SharedBatchState.SPOILED) == self.lost_writer, "T3"

    def teardown(self) -> None:
        told = list(self.reports.values())
        writers = {attempt.task for attempt in self.written} | {owner.task for owner, _ in self.turns.values()}
        whole = not self.lost_writer and not self.turns and writers <= set(self.reports)
        if whole:
            assert self.transaction.commit(told) == sum(self.written.values())
            self.transaction.committed()
            assert self.transaction.commit(told) == sum(self.written.values()), "asked twice, it says the same"
        elif self.lost_writer or self.turns:
            with pytest.raises(SpoiledError):
                self.transaction.commit(told)


TestSharedTransaction = SharedTransaction.TestCase
TestSharedTransaction.settings = examples(160, stateful_step_count=25)


def written(tasks: int = 2) -> tuple[BatchTransaction, list[TaskReport]]:
    """A transaction into which so many tasks have written a record each."""
    transaction, reports = BatchTransaction("1:0:7", 7, {}), []
    for task in range(tasks):
        attempt = TaskAttempt(task, "a")
        transaction.claim(attempt)
        (turn,) = transaction.take(attempt, PARTITIONS[:1])
        transaction.give_back(attempt, turn.partition, 1)
        reports.append(transaction.finish(attempt))
    return transaction, reports


@pytest.mark.parametrize("fault", ["missing", "twice", "foreign", "empty"])
def test_a_commit_with_other_reports_than_its_own_is_refused_and_spoils(fault: str) -> None:
    """T4: one too few, one twice, one of an earlier transaction of the same batch, none at all."""
    transaction, reports = written()
    told = {
        "missing": reports[:1],
        "twice": [*reports, reports[0]],
        "foreign": [reports[0], TaskReport("1:3:7", 1, 1)],
        "empty": [],
    }[fault]
    with pytest.raises(SpoiledError):
        transaction.commit(told)
    with pytest.raises(SpoiledError):
        transaction.commit(reports)


def test_a_second_attempt_waits_for_the_first_and_takes_its_report() -> None:
    """A speculative attempt writes nothing, whether the first has begun or has ended."""
    transaction = BatchTransaction("1:0:7", 7, {})
    first, second = TaskAttempt(0, "a"), TaskAttempt(0, "b")
    assert transaction.claim(first) is WriteClaim.WRITE
    assert transaction.claim(second) is WriteClaim.WAIT
    with pytest.raises(TurnError):
        transaction.take(second, PARTITIONS)
    report = transaction.finish(first)
    transaction.lose(first)
    assert transaction.claim(second) is WriteClaim.WRITTEN and transaction.report_of(0) == report


def test_an_attempt_that_ends_before_it_writes_leaves_its_task_to_the_next() -> None:
    """Nothing was written, so nothing is spoiled."""
    transaction = BatchTransaction("1:0:7", 7, {})
    first, second = TaskAttempt(0, "a"), TaskAttempt(0, "b")
    transaction.claim(first)
    transaction.lose(first)
    assert transaction.claim(second) is WriteClaim.WRITE and transaction.take(second, PARTITIONS)


def test_tasks_share_the_partitions_while_several_write() -> None:
    """Not one of them takes all turns."""
    transaction = BatchTransaction("1:0:7", 7, {})
    attempts = [TaskAttempt(task, "a") for task in range(3)]
    for attempt in attempts:
        transaction.claim(attempt)
    assert [len(transaction.take(attempt, PARTITIONS)) for attempt in attempts] == [1, 1, 1]


def test_sequences_go_on_in_the_next_transaction() -> None:
    """T2, from one transaction to the next of the same producer."""
    transaction, reports = written()
    transaction.commit(reports)
    transaction.committed()
    later = BatchTransaction("1:0:8", 8, transaction.sequences)
    attempt = TaskAttempt(0, "a")
    later.claim(attempt)
    assert later.take(attempt, PARTITIONS[:1]) == (Turn(PARTITIONS[0], 2),)
