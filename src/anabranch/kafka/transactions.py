"""What brokers tell of transactions: the ones open on a partition, and what coordinators know of them (KIP-664)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

from kafka.protocol.admin import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest

from anabranch.errors import ProtocolError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.headers import header_at
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import CoordinatedTransaction, OpenTransaction, SourceTransaction

_NO_SUCH_ID = 105  # TRANSACTIONAL_ID_NOT_FOUND


async def open_transactions(
    connection: Connection, topic: str, partition: int
) -> tuple[int, tuple[OpenTransaction, ...]]:
    """(code, transactions open on the partition, first one first); ask its leader, as followers answer too."""
    request = DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])]
    )
    response = await connection.call(request)
    answer = response.topics[0].partitions[0]
    found = (
        OpenTransaction(
            entry.producer_id,
            entry.producer_epoch,
            entry.coordinator_epoch,
            entry.current_txn_start_offset,
            entry.last_timestamp,
        )
        for entry in answer.active_producers
        if entry.current_txn_start_offset >= 0
    )
    return answer.error_code, tuple(sorted(found, key=lambda one: one.start_offset))


async def dated(
    connection: Connection, topic: str, topic_id: uuid.UUID, partition: int, transaction: OpenTransaction
) -> SourceTransaction:
    """The transaction with the time of its first batch, read from the log; of its last one where that is gone."""
    since = transaction.last_timestamp
    try:
        _, header = await header_at(connection, topic, topic_id, partition, transaction.start_offset)
    except (ProtocolError, RefusedError):
        header = None  # the time is for people; who copies from here meets the same bytes and says what is wrong
    if header is not None:
        since = header.base_timestamp
    return SourceTransaction(transaction, since)


async def coordinated(cluster: Cluster, producer_id: int) -> CoordinatedTransaction | None:
    """What the coordinators of a cluster tell about a producer id; None where none does.

    Every broker may coordinate it, and transactional ids that we may not DESCRIBE are left out of the answers.
    Raises ClusterError where a coordinator could not be asked: "unknown" must not be said for "not asked".
    """
    async for node, listed in _listed(cluster, [producer_id]):
        if listed.producer_id == producer_id:
            return await _describe(cluster, node, listed.transactional_id)
    return None


async def transactional_ids(cluster: Cluster) -> dict[int, str]:
    """The transactional ids that we may DESCRIBE, by the producer id that each has now; raises ClusterError."""
    return {listed.producer_id: listed.transactional_id async for _, listed in _listed(cluster, [])}


async def _listed(cluster: Cluster, producer_ids: list[int]) -> AsyncIterator[tuple[int, Any]]:
    """What each broker lists of these producer ids, or of all where none is given, with the broker that lists it."""
    for node in sorted((await cluster.metadata([])).brokers):
        request = ListTransactionsRequest(state_filters=[], producer_id_filters=producer_ids)
        response = await cluster.call(request, node, cap=0)
        cluster.check(response.error_code, "ListTransactions", "cluster")
        for listed in response.transaction_states:
            yield node, listed


async def _describe(cluster: Cluster, node: int, transactional_id: str) -> CoordinatedTransaction | None:
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    state: Any = (await cluster.call(request, node)).transaction_states[0]
    if state.error_code == _NO_SUCH_ID:
        return None
    cluster.check(state.error_code, "Describe", f"transactional id {transactional_id}")
    return CoordinatedTransaction(
        transactional_id,
        state.transaction_state,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms,
        state.producer_id,
        state.producer_epoch,
        tuple(TopicPartition(topic.topic, part) for topic in state.topics for part in topic.partitions),
    )
