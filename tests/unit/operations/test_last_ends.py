"""The ends of a wave's logs right before its point of no return, on clusters that are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from anabranch.kafka import transactional
from anabranch.kafka.admin import grow_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.settling import until_led
from anabranch.kafka.transactional import TransactionalProducer
from anabranch.kafka.transactional_write import PartitionWriter
from anabranch.migration.steps import StepKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations import ending
from anabranch.operations.migrations.ending import ForeignRecordsError, WrittenMeanwhileError
from anabranch.operations.migrations.engine import NotYetError
from anabranch.records.encode import encode
from tests.unit.asking import records
from tests.unit.link_lab import BLANK, SOURCE_END, TARGET_END, TO_A, A, B, Lab, append, lab
from tests.unit.migration_lab import LEG, scene_done

pytestmark = pytest.mark.unit
PINNED = {StepKind.PIN: {"ends": {str(one): SOURCE_END for one in (A, B, BLANK)}}}


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


@contextmanager
def open_transaction(both: Lab) -> Iterator[None]:
    """Somebody has written a record to the source in a transaction that is open meanwhile, and aborts it."""

    async def begin(cluster: Cluster) -> TransactionalProducer:
        made = await transactional.take_over(cluster, "till", 60_000)
        await transactional.add_partitions(cluster, made, [A])
        numbers = {"producer_id": made.producer_id, "producer_epoch": made.epoch, "sequence": 0}
        batch = encode(records(1), **numbers, transactional=True)
        await PartitionWriter(cluster).write(A, made, iter([batch]))
        return made

    made = both.on(both.source, begin)
    yield
    both.on(both.source, lambda cluster: transactional.end(cluster, made, commit=False))


def test_ends_are_those_of_logs_without_an_open_transaction(both: Lab) -> None:
    """While one is open nothing is pinned; one that begins behind the pinned ends is of somebody who writes."""
    assert scene_done(both, ending.pin) == PINNED[StepKind.PIN]
    scene_done(both, ending.refuse_written, PINNED)
    with open_transaction(both):
        with pytest.raises(NotYetError, match=f"a transaction is open on {A}$"):
            scene_done(both, ending.pin)
        with pytest.raises(WrittenMeanwhileError, match=f"1 records came to {A}"):
            scene_done(both, ending.refuse_written, PINNED)


def test_a_log_that_grows_while_it_is_asked_has_no_open_transaction(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes between the two questions, without a transaction: the end is the earlier one."""
    asked = ending.ask_offsets

    async def ask(cluster: Cluster, wanted: Mapping[TopicPartition, int], **how: int) -> dict[TopicPartition, int]:
        found = dict(await asked(cluster, wanted, **how))
        await append(cluster, A, 1)
        return found

    monkeypatch.setattr(ending, "ask_offsets", ask)
    assert scene_done(both, ending.pin) == PINNED[StepKind.PIN]


def grow(both: Lab, partitions: int) -> None:
    """Both topics have so many partitions."""

    async def make(cluster: Cluster, topic: str) -> None:
        await grow_topic(cluster, topic, partitions)
        await until_led(cluster, [topic])

    both.on(both.target, lambda cluster: make(cluster, TO_A.topic))
    if partitions > 3:
        both.on(both.source, lambda cluster: make(cluster, A.topic))


def test_one_record_of_somebody_else_behind_the_copies_is_refused(both: Lab) -> None:
    """The way back would begin behind it, and never bring it; so it is where nothing was ever written."""
    grow(both, 4)
    new, copy = replace(A, partition=3), replace(TO_A, partition=3)
    pinned = {StepKind.PIN: {"ends": {**PINNED[StepKind.PIN]["ends"], str(new): 0}}}
    scene_done(both, ending.verify_end, pinned)
    both.on(both.target, lambda cluster: append(cluster, copy, 1))
    with pytest.raises(ForeignRecordsError, match=f"{copy} ends at 1, and what was copied at 0"):
        scene_done(both, ending.verify_end, pinned)
    both.on(both.target, lambda cluster: append(cluster, TO_A, 1))
    with pytest.raises(ForeignRecordsError, match=f"{TO_A} ends at {TARGET_END + 1}, and what was copied at"):
        scene_done(both, ending.verify_end, pinned)


def test_nobody_writes_where_no_log_grows_for_a_while(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not one that was not there before; who wrote is told."""
    waited: list[float] = []

    async def passes(seconds: float) -> None:
        waited.append(seconds)

    async def somebody_writes(_: float) -> None:
        await asyncio.to_thread(grow, both, 4)
        await asyncio.to_thread(both.on, both.source, lambda cluster: append(cluster, replace(A, partition=3), 1))

    monkeypatch.setattr(ending, "asyncio", SimpleNamespace(sleep=passes))
    assert scene_done(both, ending.quiet) is None
    assert waited == [LEG.migration.limits.quiet_ms / 1000]
    monkeypatch.setattr(ending, "asyncio", SimpleNamespace(sleep=somebody_writes))
    with pytest.raises(NotYetError, match=f"1 record came to {A.topic}-3 and others: a producer without an id writes"):
        scene_done(both, ending.quiet)
