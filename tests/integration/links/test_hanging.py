"""A transaction that does not end holds its lane; it is named, ended when told, and the lane goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.model.lane import LaneState
from anabranch.operations.links import abort_transaction as aborting
from anabranch.operations.links.abort_transaction import (
    NoOpenTransactionError,
    TransactionNotHangingError,
)
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY
from qa.links import abort_transaction, plan_abort
from qa.timeouts import TIMEOUT_S
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce, transaction
from tests.integration.links.writers import killed_in_a_transaction, write_without_a_coordinator

pytestmark = pytest.mark.test


@pytest.fixture(scope="module", params=[pytest.param("4.3.1", marks=pytest.mark.full), "2.8.2"])
def lenient(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A source whose brokers take transactional batches without asking the coordinator, as all did before 3.6."""
    version: str = request.param
    overrides = {**STEADY, "transaction.partition.verification.enable": "false"} if version.startswith("4") else {}
    spec = ClusterSpec(f"lenient-{version.replace('.', '-')}", version=version, overrides=overrides)
    with SandboxCluster.start(spec) as running:
        yield running


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told after a transaction was ended is waited for, however slow the broker is."""
    monkeypatch.setattr(aborting, "_SETTLES_S", TIMEOUT_S)


@pytest.mark.real
def test_a_killed_producers_transaction_is_named_and_ended_when_told(old: SandboxCluster, new: SandboxCluster) -> None:
    """The lane waits and says for whom; its coordinator would end it, so it is ended only by its id."""
    topic = create(old, fresh("hanging"))
    produce(old, topic, numbered(10))
    with link(old, new, topic) as made, made.running():
        made.await_position(topic, 10)
        with pytest.raises(NoOpenTransactionError):
            abort_transaction(made.source, made.target, made.id, f"{topic}-0")
        with killed_in_a_transaction(old, topic, f"{topic}-writer", ["a", "b", "c"]):
            transaction(old, topic, [b"behind it"])
            # Asked while the one behind it was open too, the source has told of both, and is asked again.
            only = "begins at offset 10: nothing after it may be copied before it ends"
            status = made.await_(
                lambda status: (
                    status.lanes[0].state is LaneState.WAITING
                    and status.lanes[0].high_watermark == 15
                    and only in str(status.lanes[0].stop_reason)
                )
            )
            lane = status.lanes[0]
            assert (lane.position, lane.stable, lane.lag_records) == (10, 10, 0)
            plan = plan_abort(made.source, made.target, made.id, f"{topic}-0")
            (found,) = plan.transactions
            assert found.known is not None
            assert (found.open.start_offset, found.known.transactional_id) == (10, f"{topic}-writer")
            assert f"open transaction of producer id {found.open.producer_id} since " in str(lane.stop_reason)
            assert (plan.abort, plan.stable, plan.high_watermark) == (None, 10, 15)
            with pytest.raises(TransactionNotHangingError) as refused:
                abort_transaction(made.source, made.target, made.id, f"{topic}-0")
            assert f"Ongoing of transactional id {topic}-writer and aborts it by itself in" in refused.value.message
            done = abort_transaction(made.source, made.target, made.id, f"{topic}-0", found.open.producer_id)
            assert done.stable == 16
        lane = made.await_position(topic, 16)
        made.await_(lambda status: status.lanes[0].state is LaneState.FOLLOWING)
        assert [(run.source, run.length) for run in made.ranges(lane.lane)] == [(0, 10), (13, 1)]
        assert made.lane(topic).stop_reason is None


def test_a_transaction_that_no_coordinator_knows_is_ended_without_a_name(
    lenient: SandboxCluster, new: SandboxCluster
) -> None:
    """It hangs: nothing but a person ends it; one that is young may only be hidden, and is left alone."""
    topic = create(lenient, fresh("ghost"))
    produce(lenient, topic, numbered(4))
    young = write_without_a_coordinator(lenient, topic, [b"young"], 60_000)
    with link(lenient, new, topic) as made, made.running():
        made.await_position(topic, 4)
        with pytest.raises(TransactionNotHangingError, match=f"producer id {young} is left alone: "):
            abort_transaction(made.source, made.target, made.id, f"{topic}-0")
        hung = write_without_a_coordinator(lenient, topic, [b"old", b"older"], 3_600_000)
        plan = plan_abort(made.source, made.target, made.id, f"{topic}-0")
        assert [one.open.producer_id for one in plan.transactions] == [young, hung]
        assert (plan.abort, len(plan.kept)) == (hung, 1)
        assert abort_transaction(made.source, made.target, made.id, f"{topic}-0", young).stable == 5
        assert abort_transaction(made.source, made.target, made.id, f"{topic}-0").stable == 9
        produce(lenient, topic, numbered(3, first=4))
        lane = made.await_position(topic, 12)
        assert [(run.source, run.length) for run in made.ranges(lane.lane)] == [(0, 4), (9, 3)]
        with pytest.raises(NoOpenTransactionError):
            abort_transaction(made.source, made.target, made.id, f"{topic}-0")
