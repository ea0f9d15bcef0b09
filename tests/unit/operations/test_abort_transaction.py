"""``link abort-transaction``: which transaction is planned to be ended, and that nothing else is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.kafka.partitions import new_producer_id
from anabranch.kafka.simulated.cluster import SimulatedCluster
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import AbortPlan, AbortReport
from anabranch.operations.links import abort_transaction as aborting
from anabranch.records.header import read_header
from qa.blocking import between
from tests.unit.asking import open_batch
from tests.unit.link_lab import LINK, SOURCE_END, A, B, Lab, append, lab

pytestmark = pytest.mark.unit
HOUR_MS = 3_600_000


@pytest.fixture
def made() -> Iterator[Lab]:
    """Two simulated clusters and a link."""
    with lab() as one:
        yield one


def left_open(made: Lab, values: Sequence[bytes], age_ms: int, at: TopicPartition = A) -> int:
    """Append a transactional batch that no coordinator knows of; returns the producer id."""
    written = now_ms() - age_ms
    producer = made.on(made.source, new_producer_id)
    batch = open_batch(producer, values, written)

    def write(cluster: SimulatedCluster) -> None:
        partition = cluster.partition(at.topic, at.partition)
        partition.led.log.append(batch, read_header(batch), partition.leader_epoch, written)
        cluster.appended(partition)

    made.here.served.do(write)
    return producer


def planned(made: Lab, producer: int | None = None, where: str = str(A)) -> AbortPlan:
    """What would be ended."""
    return between(made.source, made.target, lambda here, there: aborting.plan(here, there, LINK, where, producer))


def ended(made: Lab, plan: AbortPlan) -> AbortReport:
    """End it."""
    return between(made.source, made.target, lambda here, there: aborting.apply(here, there, plan))


def test_where_none_is_open_none_is_ended(made: Lab) -> None:
    """Nor one of a producer that has none open; and a topic alone is no partition."""
    with pytest.raises(aborting.NoOpenTransactionError, match="no transaction is open on source partition orders-0"):
        planned(made)
    left_open(made, [b"a"], HOUR_MS)
    with pytest.raises(aborting.NoOpenTransactionError, match="no transaction of producer id 77 is open"):
        planned(made, 77)
    with pytest.raises(aborting.NoOpenTransactionError):
        planned(made, where=str(B))
    with pytest.raises(InvalidFieldError, match="is not TOPIC-PARTITION"):
        planned(made, where=A.topic)


def test_the_one_that_hangs_is_ended_and_a_young_one_is_left_alone(made: Lab) -> None:
    """Each is named; the stable offset goes past what was ended, with its marker, and no further."""
    hung = left_open(made, [b"old", b"older"], 2 * HOUR_MS)
    made.on(made.source, lambda cluster: append(cluster, A, 3))
    young = left_open(made, [b"young"], 1_000)
    plan = planned(made)
    assert [one.open.producer_id for one in plan.transactions] == [hung, young]
    assert (plan.abort, plan.stable, plan.high_watermark) == (hung, SOURCE_END, SOURCE_END + 6)
    (kept,) = plan.kept
    assert kept.startswith(f"producer id {young} is left alone: ")
    report = ended(made, plan)
    assert (report.stable, report.high_watermark) == (SOURCE_END + 5, SOURCE_END + 7)
    with pytest.raises(aborting.TransactionNotHangingError, match=f"orders-0 hangs: producer id {young} is left"):
        ended(made, planned(made))
    assert ended(made, planned(made, young)).stable == SOURCE_END + 8
    with pytest.raises(aborting.NoOpenTransactionError):
        planned(made)


def test_what_was_planned_is_ended_and_not_what_began_since(made: Lab) -> None:
    """Another transaction that would be the first to be ended by now is another plan."""
    hung = left_open(made, [b"a"], HOUR_MS)
    plan = planned(made)
    assert plan.abort == hung and ended(made, plan).stable == SOURCE_END + 2
    left_open(made, [b"b"], HOUR_MS)
    with pytest.raises(PlanChangedError):
        ended(made, plan)
    assert planned(made).stable == SOURCE_END + 2, "it is open still"


def test_one_that_does_not_hold_the_stable_offset_is_ended_where_it_is_named(made: Lab) -> None:
    """The stable offset stays where the other one holds it, and that is not waited for."""
    first = left_open(made, [b"a"], 1_000)
    second = left_open(made, [b"b"], 1_000)
    report = ended(made, planned(made, second))
    assert report.stable == SOURCE_END and report.high_watermark == SOURCE_END + 3
    assert [one.open.producer_id for one in planned(made, first).transactions] == [first]
