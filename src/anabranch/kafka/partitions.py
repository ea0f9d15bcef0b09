"""What brokers know of one partition: its ends, its producers, the batch at an offset; and producer fences.

Every call goes over the connection that it is given, with the leader epoch that it is given: an answer means
something only for that generation (LANE protocol, R1 and R8).  Calls return error codes where the lane protocol
decides on them, and raise where nobody would go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DeleteRecordsRequest, DescribeProducersRequest
from kafka.protocol.consumer import OffsetForLeaderEpochRequest
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    WriteTxnMarkersRequest,
)

from anabranch.kafka import listoffsets
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.listoffsets import OffsetAnswer

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
FENCE_EPOCH = 32767
_COORDINATOR_MOVED = {15, 16}  # COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
_LOADING = 14
_COORDINATOR_BUSY = {_LOADING, 51}  # COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS
_COORDINATOR_TIMEOUT_S = 30.0
_COORDINATOR_PAUSE_S = 0.02


async def list_offset(
    connection: Connection, topic: str, partition: int, at: int, *, epoch: int = -1, isolation: int = 0
) -> OffsetAnswer:
    """Offset by time stamp in ms, or LATEST (high watermark; LSO with isolation 1), or EARLIEST."""
    answers = await list_offsets(connection, {(topic, partition): (at, epoch)}, isolation=isolation)
    return answers[(topic, partition)]


async def list_offsets(
    connection: Connection, wanted: dict[tuple[str, int], tuple[int, int]], *, isolation: int = 0
) -> dict[tuple[str, int], OffsetAnswer]:
    """Many look-ups at one leader: (topic, partition) -> (time stamp or sentinel, leader epoch)."""
    return await listoffsets.ask(connection, wanted, isolation)


async def epoch_end(
    connection: Connection, topic: str, partition: int, asked_epoch: int, current_epoch: int
) -> tuple[int, int, int]:
    """(code, epoch, end offset) of a leader epoch; for the current one the end is the true log end offset."""
    request_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    request = OffsetForLeaderEpochRequest(
        replica_id=-2,
        topics=[
            request_topic(
                topic=topic,
                partitions=[
                    request_topic.OffsetForLeaderPartition(
                        partition=partition, current_leader_epoch=current_epoch, leader_epoch=asked_epoch
                    )
                ],
            )
        ],
    )
    response = await connection.call(request, cap=4)
    answer = response.topics[0].partitions[0]
    return answer.error_code, answer.leader_epoch, answer.end_offset


@dataclass(frozen=True, slots=True)
class ProducerEntry:
    """A broker's memory of one producer id on one partition; ``last_sequence`` is -1 after a marker alone."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    transaction_start: int

    @classmethod
    def of(cls, told: Any) -> ProducerEntry:
        """The entry of an answer of DescribeProducers."""
        return cls(
            told.producer_id,
            told.producer_epoch,
            told.last_sequence,
            told.last_timestamp,
            told.current_txn_start_offset,
        )


async def describe_producers(
    connection: Connection, topic: str, partition: int
) -> tuple[int, dict[int, ProducerEntry]]:
    """(code, entries by producer id) as this broker has them; followers answer too, so check the leader after."""
    request = DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])]
    )
    response = await connection.call(request)
    answer = response.topics[0].partitions[0]
    return answer.error_code, {entry.producer_id: ProducerEntry.of(entry) for entry in answer.active_producers}


async def write_marker(
    connection: Connection,
    topic: str,
    partition: int,
    producer_id: int,
    *,
    epoch: int = FENCE_EPOCH,
    coordinator_epoch: int = 0,
    timeout: float = 35.0,
) -> int:
    """Append an abort marker for one producer id: with epoch 32767 nothing of it is accepted after.

    Returns the code for this partition.  0: appended on the whole ISR.  6, 7, 20: unknown, it may be in the log,
    come later or be gone.  19: not appended.  One id a request: two rows of one id hide a refusal.
    """
    marker = WriteTxnMarkersRequest.WritableTxnMarker
    request = WriteTxnMarkersRequest(
        markers=[
            marker(
                producer_id=producer_id,
                producer_epoch=epoch,
                transaction_result=False,
                topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
                coordinator_epoch=coordinator_epoch,
            )
        ]
    )
    response = await connection.call(request, timeout=timeout, cap=1)
    return int(response.markers[0].topics[0].partitions[0].error_code)


async def write_kills(
    connection: Connection, topic: str, partition: int, producer_ids: Sequence[int], *, timeout: float = 35.0
) -> dict[int, int]:
    """The markers of ``write_marker`` that fence some producer ids, in one request; the code of each id."""
    marker = WriteTxnMarkersRequest.WritableTxnMarker
    request = WriteTxnMarkersRequest(
        markers=[
            marker(
                producer_id=producer_id,
                producer_epoch=FENCE_EPOCH,
                transaction_result=False,
                topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
                coordinator_epoch=0,
            )
            for producer_id in sorted(set(producer_ids))
        ]
    )
    response = await connection.call(request, timeout=timeout, cap=1)
    return {one.producer_id: int(one.topics[0].partitions[0].error_code) for one in response.markers}


async def delete_records(connection: Connection, topic: str, partition: int, before: int) -> int:
    """Have the log begin at ``before``; returns the code for this partition.  Needs DELETE on the topic."""
    topics = DeleteRecordsRequest.DeleteRecordsTopic
    request = DeleteRecordsRequest(
        topics=[
            topics(
                name=topic,
                partitions=[topics.DeleteRecordsPartition(partition_index=partition, offset=before)],
            )
        ],
        timeout_ms=30_000,
    )
    response = await connection.call(request, timeout=35.0, cap=2)
    return int(response.topics[0].partitions[0].error_code)


async def new_producer_id(cluster: Cluster) -> int:
    """A producer id that nobody has; raises where the cluster refuses (it needs no permission but WRITE).

    A broker without ids left answers 14 until the controller has given it a block (KIP-730): that is waited for.
    """
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )
    deadline = time.monotonic() + _COORDINATOR_TIMEOUT_S
    while (response := await cluster.call(request, cap=4)).error_code == _LOADING and time.monotonic() < deadline:
        await asyncio.sleep(_COORDINATOR_PAUSE_S)
    cluster.check(response.error_code, "IdempotentWrite", "cluster")
    return int(response.producer_id)


async def transactional_producer_id(cluster: Cluster, transactional_id: str) -> tuple[int, int, int]:
    """(code, producer id, epoch) after fencing everyone before on this transactional id.

    Waits while the coordinator loads or moves, and while an earlier transaction's marker is on its way: after 0
    nothing of an older epoch is pending at the coordinator.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )
    response = await ask_coordinator(cluster, transactional_id, request, 4, lambda answer: answer.error_code)
    return response.error_code, response.producer_id, response.producer_epoch


async def empty_transaction(
    cluster: Cluster, transactional_id: str, producer_id: int, epoch: int, topic: str, partition: int
) -> int:
    """Abort a transaction without data: one marker of ``epoch`` on the partition, later; returns the code.

    The marker of the transaction before is waited for; ending twice is answered 0 and writes no second marker.
    """
    topics = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[topics(name=topic, partitions=[partition])],
    )
    added = await ask_coordinator(cluster, transactional_id, add, 3, _code_of_added)
    if _code_of_added(added) != 0:
        return _code_of_added(added)
    end = EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=False
    )
    ended = await ask_coordinator(cluster, transactional_id, end, 3, lambda answer: answer.error_code)
    return int(ended.error_code)


def _code_of_added(answer: Any) -> int:
    return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


async def ask_coordinator(
    cluster: Cluster, transactional_id: str, request: Any, cap: int, code_of: Callable[[Any], int]
) -> Any:
    """The answer of the transaction coordinator, asked again while it says that it did nothing yet.

    Raises ConnectionLostError, with an unknown outcome, without asking again.
    """
    deadline = time.monotonic() + _COORDINATOR_TIMEOUT_S
    while True:
        node = await cluster.coordinator(transactional_id, 1)
        try:
            answer = await cluster.call(request, node, cap=cap)
        except ConnectionLostError:
            cluster.forget_coordinator(transactional_id, 1)  # a broker that is gone never says that it moved
            raise
        code = code_of(answer)
        if code in _COORDINATOR_MOVED:
            cluster.forget_coordinator(transactional_id, 1)
        elif code not in _COORDINATOR_BUSY:
            return answer
        if time.monotonic() > deadline:
            return answer
        await asyncio.sleep(_COORDINATOR_PAUSE_S)
