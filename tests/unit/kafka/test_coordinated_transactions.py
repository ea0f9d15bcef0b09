"""What coordinators tell of a producer's transaction, and the controller of its clock."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any, cast

import pytest
from kafka.protocol.admin import (
    DescribeProducersResponse,
    DescribeQuorumResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
)

from anabranch.errors import AnabranchError
from anabranch.kafka import controller_clock, transactions
from anabranch.kafka.connection import Connection
from anabranch.kafka.controller_clock import clock_skew
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.fetch import FetchResponseError
from anabranch.kafka.transactions import coordinated, dated, open_transactions, transactional_ids
from anabranch.model.skew import ClockSkew
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import CoordinatedTransaction, OpenTransaction, SourceTransaction
from tests.unit.kafka.scripted import Asked, Scripted

pytestmark = pytest.mark.unit

LIST, DESCRIBE, PRODUCERS, QUORUM = 66, 65, 61, 55
LOST = ConnectionLostError("scripted", "2", "gone")


def listed(**producers: int) -> Any:
    """What one broker coordinates: the producer of each transactional id."""
    row = ListTransactionsResponse.TransactionState
    rows = [row(transactional_id=name, producer_id=number) for name, number in producers.items()]
    return ListTransactionsResponse(transaction_states=rows)


def cluster_of(lists: Mapping[int, Any], described: Any = None) -> Scripted:
    """Brokers that list these."""

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY == LIST:
            assert asked.node is not None
            found = lists[asked.node]
        elif asked.request.API_KEY == DESCRIBE:
            found = described
        else:
            return None
        if isinstance(found, AnabranchError):
            raise found
        return found

    return Scripted(answer, brokers=(3, 1, 2))


def state(code: int = 0) -> Any:
    """The whole of one."""
    row = DescribeTransactionsResponse.TransactionState
    topics = [row.TopicData(topic="t", partitions=[1, 0]), row.TopicData(topic="u", partitions=[4])]
    one = row(
        error_code=code,
        transactional_id="id",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=1_234,
        producer_id=7,
        producer_epoch=5,
        topics=topics,
    )
    return DescribeTransactionsResponse(transaction_states=[one])


def test_a_transaction_is_told_by_whichever_broker_coordinates_it() -> None:
    """With all that it tells; an answer about another producer is passed over, and nobody is asked any further."""
    cluster = cluster_of({1: listed(other=8), 2: listed(other=9, id=7), 3: LOST}, state())
    assert asyncio.run(coordinated(cluster, 7)) == CoordinatedTransaction(
        "id",
        "Ongoing",
        60_000,
        1_234,
        7,
        5,
        (TopicPartition("t", 1), TopicPartition("t", 0), TopicPartition("u", 4)),
    )
    keys = [(one.request.API_KEY, one.node) for one in cluster.asked]
    assert keys == [(LIST, 1), (LIST, 2), (DESCRIBE, 2)]
    assert list(cluster.asked[0].request.producer_id_filters) == [7]
    assert list(cluster.asked[2].request.transactional_ids) == ["id"]


def test_a_producer_that_no_broker_coordinates_has_no_transaction() -> None:
    """Once each of them was asked; nor has one whose id has expired since it was listed."""
    cluster = cluster_of({1: listed(), 2: listed(other=9), 3: listed()})
    assert asyncio.run(coordinated(cluster, 7)) is None
    assert [one.node for one in cluster.asked] == [1, 2, 3]
    assert asyncio.run(coordinated(cluster_of({1: listed(id=7)}, state(105)), 7)) is None


@pytest.mark.parametrize(
    ("lists", "described", "error"),
    [
        ({1: listed(), 2: LOST}, None, ConnectionLostError),
        ({1: listed(), 2: ListTransactionsResponse(error_code=14)}, None, BrokerRefusedError),
        ({1: listed(id=7)}, state(53), PermissionDeniedError),
        ({1: listed(id=7)}, state(16), BrokerRefusedError),
        ({1: listed(id=7)}, LOST, ConnectionLostError),
    ],
)
def test_a_coordinator_that_could_not_be_asked_is_an_error(
    lists: Mapping[int, Any], described: Any, error: type[AnabranchError]
) -> None:
    """It is not told that there is no transaction."""
    with pytest.raises(error):
        asyncio.run(coordinated(cluster_of(lists, described), 7))


def test_all_transactional_ids_are_told_by_their_producers() -> None:
    """Of every broker, and without asking for one in particular."""
    cluster = cluster_of({1: listed(a=1), 2: listed(b=2, c=3), 3: listed()})
    assert asyncio.run(transactional_ids(cluster)) == {1: "a", 2: "b", 3: "c"}
    assert all(not one.request.producer_id_filters for one in cluster.asked)


def producer(number: int, start: int) -> Any:
    """A producer whose transaction begins there, or has none."""
    return DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState(
        producer_id=number,
        producer_epoch=number + 10,
        coordinator_epoch=number + 20,
        current_txn_start_offset=start,
        last_timestamp=number + 1_000,
        last_sequence=0,
    )


@pytest.mark.parametrize("code", [0, 6])
def test_the_open_transactions_of_a_partition_are_told_first_one_first(code: int) -> None:
    """Also one that begins with the very first record; producers without one are left out."""
    topic = DescribeProducersResponse.TopicResponse
    part = topic.PartitionResponse(
        partition_index=3, error_code=code, active_producers=[producer(1, 9), producer(2, -1), producer(3, 0)]
    )
    cluster = Scripted(lambda _: DescribeProducersResponse(topics=[topic(name="t", partitions=[part])]))

    async def ask() -> Any:
        return await open_transactions(await cluster.connection(1), "t", 3)

    assert asyncio.run(ask()) == (code, (OpenTransaction(3, 13, 23, 0, 1_003), OpenTransaction(1, 11, 21, 9, 1_001)))
    (topic_asked,) = cluster.asked[0].request.topics
    assert (topic_asked.name, list(topic_asked.partition_indexes)) == ("t", [3])


class Header:
    """Of a first batch."""

    base_timestamp = 55


@pytest.mark.parametrize(
    ("found", "since"),
    [
        ((0, Header()), 55),
        ((0, None), 1_003),
        (FetchResponseError(), 1_003),
        (PermissionDeniedError("c", "me", "R", "t"), None),
    ],
)
def test_a_transaction_is_as_old_as_its_first_batch(
    found: Any, since: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or as its last one where the first is gone or cannot be read; what the cluster refuses is told."""

    async def header_at(*_: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(transactions, "header_at", header_at)
    one = OpenTransaction(3, 13, 23, 0, 1_003)

    def ask() -> SourceTransaction:
        return asyncio.run(dated(cast(Connection, None), "t", uuid.UUID(int=1), 0, one))

    if since is None:
        with pytest.raises(PermissionDeniedError):
            ask()
    else:
        assert ask() == SourceTransaction(one, since)


# -- the controller's clock ----------------------------------------------------------------------------


def quorum(leader: int, times: Mapping[int, int], code: int = 0, part_code: int = 0) -> Any:
    """When each voter has read the metadata log last."""
    topic = DescribeQuorumResponse.TopicData
    part = topic.PartitionData
    voters = [part.ReplicaState(replica_id=node, last_fetch_timestamp=at) for node, at in times.items()]
    parts = [part(leader_id=leader, error_code=part_code, current_voters=voters)]
    return DescribeQuorumResponse(error_code=code, topics=[topic(topic_name="__cluster_metadata", partitions=parts)])


def skewed(monkeypatch: pytest.MonkeyPatch, answers: list[Any], times: list[int], newest: int = 1) -> Any:
    """What follows from these answers, each asked and told at two of the times."""
    left, clock = list(answers), list(times)
    monkeypatch.setattr(controller_clock, "now_ms", lambda: clock.pop(0))
    versions = {QUORUM: (0, newest)} if newest >= 0 else {QUORUM: (0, -1)}
    cluster = Scripted(lambda asked: left.pop(0) if asked.request.API_KEY == QUORUM else None, versions=versions)
    return asyncio.run(clock_skew(cluster))


def test_the_quickest_answer_tells_the_controllers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the voter that leads, whatever the others have read."""
    answers = [quorum(2, {1: 9, 2: at, 3: 9_999}) for at in (1_000, 1_100, 1_200)]
    found = skewed(monkeypatch, answers, [1_500, 1_540, 1_600, 1_610, 1_700, 1_720])
    assert found == ClockSkew(499, 511)


@pytest.mark.parametrize("times", [{1: 900}, {1: 900, 2: -1}, {1: 900, 2: 0}])
def test_a_leader_that_does_not_tell_its_time_is_not_known(
    times: Mapping[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes another voter's for it."""
    assert skewed(monkeypatch, [quorum(2, times)] * 3, [0] * 6) is None


def test_brokers_that_do_not_tell_of_the_quorum_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clock is not known."""
    assert skewed(monkeypatch, [], [0] * 6, newest=-1) is None


@pytest.mark.parametrize(
    ("answer", "error"),
    [(quorum(2, {}, 31), PermissionDeniedError), (quorum(2, {2: 5}, 0, 42), BrokerRefusedError)],
)
def test_a_controller_that_refuses_to_tell_is_an_error(
    answer: Any, error: type[AnabranchError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not told as a clock that nobody knows."""
    with pytest.raises(error):
        skewed(monkeypatch, [answer] * 3, [0] * 6)
