"""What the owner of a transactional id asks for, and what comes of each answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kafka.protocol.producer import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitResponse,
)

from anabranch.errors import AnabranchError
from anabranch.kafka import transactional
from anabranch.kafka.errors import (
    AuthenticationError,
    BrokerRefusedError,
    ConnectionLostError,
    PermissionDeniedError,
)
from anabranch.kafka.transactional import (
    FencedError,
    TransactionalProducer,
    add_partitions,
    commit_note,
    end,
    patiently,
    take_over,
)
from anabranch.model.topics import TopicPartition
from tests.unit.kafka.scripted import Scripted, answering

pytestmark = pytest.mark.unit

PRODUCER = TransactionalProducer("id", 7, 1)
PLACES = {TopicPartition("u", 0), TopicPartition("t", 2), TopicPartition("t", 1)}
LOST = ConnectionLostError("scripted", "1", "gone")
FENCED = [47, 48, 49, 90]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactional, "_PAUSE_S", 0.0)


def added(**codes: int) -> Any:
    """The answer to partitions: a code for each, 0 where none is given."""
    row = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    part = row.AddPartitionsToTxnPartitionResult
    rows = [
        row(
            name=name,
            results_by_partition=[
                part(partition_index=number, partition_error_code=codes.get(f"{name}{number}", 0)) for number in numbers
            ],
        )
        for name, numbers in {"t": [1, 2], "u": [0]}.items()
    ]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)


def test_the_owner_has_the_numbers_that_the_coordinator_gives() -> None:
    """A new owner, with the time that its transactions may take."""
    cluster = answering(InitProducerIdResponse(producer_id=77, producer_epoch=8))
    assert asyncio.run(take_over(cluster, "id", 1_234)) == TransactionalProducer("id", 77, 8)
    (asked,) = cluster.asked
    request = asked.request
    assert (request.transactional_id, request.transaction_timeout_ms) == ("id", 1_234)
    assert (request.producer_id, request.producer_epoch, asked.node) == (-1, -1, 1)


@pytest.mark.parametrize(("code", "error"), [(53, PermissionDeniedError), (50, BrokerRefusedError)])
def test_an_id_that_is_not_given_is_an_error(code: int, error: type[AnabranchError]) -> None:
    """Never an owner with the numbers of nobody."""
    with pytest.raises(error, match="transactional id id"):
        asyncio.run(take_over(answering(InitProducerIdResponse(error_code=code)), "id", 1))


def test_all_partitions_are_added_at_once() -> None:
    """By topic."""
    cluster = answering(added())
    asyncio.run(add_partitions(cluster, PRODUCER, PLACES))
    (asked,) = cluster.asked
    request = asked.request
    rows = [(one.name, list(one.partitions)) for one in request.v3_and_below_topics]
    assert rows == [("t", [1, 2]), ("u", [0])]
    assert request.v3_and_below_transactional_id == "id"
    assert (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch) == (7, 1)


@pytest.mark.parametrize("first", [added(t1=55, t2=3, u0=55), added(t1=51, t2=51, u0=51), added(t2=51)])
def test_partitions_that_are_not_known_yet_are_added_again(first: Any) -> None:
    """All of them: nothing was done.  So is it while the transaction before ends."""
    cluster = answering(first, first, added())
    asyncio.run(add_partitions(cluster, PRODUCER, PLACES))
    assert len(cluster.asked) == 3


@pytest.mark.parametrize("code", [29, 42])
@pytest.mark.parametrize("others", [0, 55])
def test_a_partition_that_is_refused_is_named(code: int, others: int) -> None:
    """And not one of those that were not attempted because of it, or were added."""
    cluster = answering(added(t1=others, t2=code, u0=others))
    with pytest.raises(PermissionDeniedError if code == 29 else BrokerRefusedError, match="partition t-2"):
        asyncio.run(add_partitions(cluster, PRODUCER, PLACES))


def test_partitions_that_were_not_attempted_are_not_added() -> None:
    """Not even where no other code says why."""
    with pytest.raises(BrokerRefusedError) as refused:
        asyncio.run(add_partitions(answering(added(t1=55)), PRODUCER, PLACES))
    assert refused.value.code == 55


def test_a_partition_that_nobody_knows_for_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name."""
    monkeypatch.setattr(transactional, "PATIENCE_S", -1.0)
    with pytest.raises(BrokerRefusedError, match="partition u-0") as refused:
        asyncio.run(add_partitions(answering(added(t1=55, t2=55, u0=3)), PRODUCER, PLACES))
    assert refused.value.code == 3


def noted(code: int) -> Any:
    """The answer to a note."""
    row = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    part = row.TxnOffsetCommitResponsePartition(partition_index=4, error_code=code)
    return TxnOffsetCommitResponse(topics=[row(name="t", partitions=[part])])


def note(cluster: Scripted) -> None:
    """Commit one."""
    asyncio.run(commit_note(cluster, PRODUCER, "g", TopicPartition("t", 4), "what is noted"))


def test_a_note_is_committed_within_the_transaction() -> None:
    """First the group becomes a part of it; both go by the producer's numbers."""
    cluster = answering(AddOffsetsToTxnResponse(), noted(0))
    note(cluster)
    first, second = (one.request for one in cluster.asked)
    for request in (first, second):
        assert (request.transactional_id, request.group_id) == ("id", "g")
        assert (request.producer_id, request.producer_epoch) == (7, 1)
    (topic,) = second.topics
    (part,) = topic.partitions
    assert (topic.name, part.partition_index, part.committed_offset) == ("t", 4, 0)
    assert part.committed_metadata == "what is noted"


@pytest.mark.parametrize("code", [*FENCED, 53, 30])
def test_a_group_that_is_not_added_has_no_note(code: int) -> None:
    """It would be committed outside of any transaction."""
    cluster = answering(AddOffsetsToTxnResponse(error_code=code))
    with pytest.raises(FencedError if code in FENCED else PermissionDeniedError):
        note(cluster)
    assert len(cluster.asked) == 1


@pytest.mark.parametrize("code", [*FENCED, 30, 12])
def test_a_note_that_is_refused_is_an_error(code: int) -> None:
    """A later owner is told apart from what else a coordinator refuses."""
    kinds = {30: PermissionDeniedError, 12: BrokerRefusedError}
    with pytest.raises(kinds.get(code, FencedError)):
        note(answering(AddOffsetsToTxnResponse(), noted(code)))


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_ends_as_it_is_told_to(commit: bool) -> None:
    """Asked again where an answer was lost, which is told."""
    cluster, lost = answering(LOST, LOST, EndTxnResponse()), []
    asyncio.run(end(cluster, PRODUCER, commit=commit, retried=lambda: lost.append(1)))
    assert len(lost) == 2
    for one in cluster.asked:
        assert (one.request.transactional_id, one.request.committed) == ("id", commit)
        assert (one.request.producer_id, one.request.producer_epoch) == (7, 1)


@pytest.mark.parametrize("code", [*FENCED, 53, 42])
def test_a_transaction_that_is_not_ended_is_an_error(code: int) -> None:
    """Nobody goes on as if it had been committed."""
    kinds = {53: PermissionDeniedError, 42: BrokerRefusedError}
    with pytest.raises(kinds.get(code, FencedError)) as refused:
        asyncio.run(end(answering(EndTxnResponse(error_code=code)), PRODUCER, commit=True))
    if isinstance(refused.value, FencedError):
        assert (refused.value.cluster, refused.value.transactional_id) == ("scripted", "id")


def asks(*told: AnabranchError | int) -> tuple[Callable[[], Awaitable[int]], deque[AnabranchError | int]]:
    """A question that ends so, one time after the other; and what is left of it."""
    left = deque(told)

    async def ask() -> int:
        found = left.popleft()
        if isinstance(found, AnabranchError):
            raise found
        return found

    return ask, left


def test_a_question_is_asked_until_it_is_answered() -> None:
    """While brokers are away, and no longer."""
    ask, left = asks(LOST, LOST, 5, 6)
    assert asyncio.run(patiently(ask)) == 5
    assert list(left) == [6]


def test_an_error_that_does_not_pass_ends_patience_at_once() -> None:
    """Also behind one that did."""
    ask, left = asks(LOST, AuthenticationError("scripted", "User:me", "PLAIN", "wrong"), 6)
    with pytest.raises(AuthenticationError):
        asyncio.run(patiently(ask))
    assert list(left) == [6]


def test_patience_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the last attempt raised is told."""
    monkeypatch.setattr(transactional, "PATIENCE_S", -1.0)
    ask, left = asks(LOST, 6)
    with pytest.raises(ConnectionLostError):
        asyncio.run(patiently(ask))
    assert list(left) == [6]
