"""The transaction of one transactional id, as its one owner leads it: begun, given partitions, ended.

The requests are those of before KIP-890's second part (transactions of version 1), which brokers of every version take:
there the epoch stays the same from transaction to transaction, so that several processes can write with it.  Each
request may be asked twice: a lost answer is asked for again, for ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from anabranch.errors import AnabranchError, ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.coordinators import ask_group
from anabranch.kafka.groups.errors import check_group
from anabranch.kafka.groups.offsets import committed
from anabranch.kafka.partitions import ask_coordinator
from anabranch.model.topics import TopicPartition

PATIENCE_S = 120.0
"""How long a broker may be away before a batch fails."""
FENCED = frozenset({47, 48, 49, 90})
"""INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED."""
_UNKNOWN_TOPIC = 3
_PAUSE_S = 0.1
T = TypeVar("T")
Retried = Callable[[], None]


@dataclass(eq=False)
class FencedError(ClusterError):
    """The transactional id belongs to a later owner, or the transaction took longer than it may."""

    cluster: str
    transactional_id: str

    _message = (
        "cluster {cluster}: transactional id {transactional_id} has been taken over, or its transaction has timed out"
    )
    _hint = "let one copy of the query run; raise transaction.timeout.ms above the time that its longest batch takes"


@dataclass(frozen=True, slots=True)
class TransactionalProducer:
    """The owner of a transactional id: whoever writes for it has these numbers."""

    transactional_id: str
    producer_id: int
    epoch: int


async def take_over(
    cluster: Cluster, transactional_id: str, timeout_ms: int, retried: Retried | None = None
) -> TransactionalProducer:
    """Become the owner: what an earlier one left open is aborted, and its writes are refused from now on.

    ``timeout_ms`` is how long a transaction may be open before the cluster aborts it.  Raises ClusterError.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, producer_id=-1, producer_epoch=-1
    )
    answer = await patiently(
        lambda: ask_coordinator(cluster, transactional_id, request, 4, lambda told: int(told.error_code)), retried
    )
    cluster.check(answer.error_code, "InitProducerId", f"transactional id {transactional_id}")
    return TransactionalProducer(transactional_id, int(answer.producer_id), int(answer.producer_epoch))


async def add_partitions(
    cluster: Cluster,
    producer: TransactionalProducer,
    partitions: Collection[TopicPartition],
    retried: Retried | None = None,
) -> None:
    """Let the transaction write to these partitions; raises FencedError, ClusterError."""
    by_topic: dict[str, list[int]] = {}
    for one in sorted(partitions):
        by_topic.setdefault(one.topic, []).append(one.partition)
    named = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[named(name=name, partitions=numbers) for name, numbers in by_topic.items()],
    )

    def codes(answer: Any) -> list[tuple[int, str]]:
        return [
            (int(part.partition_error_code), f"{topic.name}-{part.partition_index}")
            for topic in answer.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]

    def worst(answer: Any) -> int:
        # 55, OPERATION_NOT_ATTEMPTED, is what the other partitions of a request are told.
        return max((code for code, _ in codes(answer)), key=lambda code: (code not in (0, 55), code))

    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = await patiently(
            lambda: ask_coordinator(cluster, producer.transactional_id, request, 3, worst), retried
        )
        code = worst(answer)
        if code != _UNKNOWN_TOPIC or time.monotonic() > deadline:
            break
        await asyncio.sleep(_PAUSE_S)
    name = next((name for found, name in codes(answer) if found == code), "")
    _check(cluster, producer, code, "AddPartitionsToTxn", f"partition {name}")


async def commit_note(
    cluster: Cluster,
    producer: TransactionalProducer,
    group: str,
    place: TopicPartition,
    note: str,
    retried: Retried | None = None,
) -> None:
    """Commit a note for a group within the transaction, at a partition that is there; its offset is 0.

    Raises FencedError, ClusterError.
    """
    add = AddOffsetsToTxnRequest(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        group_id=group,
    )
    added = await patiently(
        lambda: ask_coordinator(cluster, producer.transactional_id, add, 3, lambda told: int(told.error_code)), retried
    )
    _check(cluster, producer, added.error_code, "AddOffsetsToTxn", f"group {group}")
    topics = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    parts = topics.TxnOffsetCommitRequestPartition
    request = TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id=group,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[
            topics(
                name=place.topic,
                partitions=[parts(partition_index=place.partition, committed_offset=0, committed_metadata=note)],
            )
        ],
    )

    def code_of(told: Any) -> int:
        return int(told.topics[0].partitions[0].error_code)

    answer = await patiently(lambda: ask_group(cluster, group, request, code_of, 3), retried)
    if code_of(answer) in FENCED:
        raise FencedError(cluster.name, producer.transactional_id)
    check_group(cluster, code_of(answer), "Read", group)


async def end(
    cluster: Cluster, producer: TransactionalProducer, *, commit: bool, retried: Retried | None = None
) -> None:
    """Commit or abort; after that it is done whatever happens.  Raises FencedError, ClusterError.

    To end it the same way twice is answered alike.  Where this raises ConnectionLostError, it may be done or not: the
    next owner learns it by ``take_over`` and ``notes``.
    """
    request = EndTxnRequest(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )
    answer = await patiently(
        lambda: ask_coordinator(cluster, producer.transactional_id, request, 3, lambda told: int(told.error_code)),
        retried,
    )
    _check(cluster, producer, answer.error_code, "EndTxn", f"transactional id {producer.transactional_id}")


async def notes(cluster: Cluster, group: str, topic: str | None = None) -> dict[TopicPartition, str]:
    """What a group's commits say; asked after ``take_over``, when no transaction is open.  Raises ClusterError.

    A broker may have ended a transaction and not yet taken its commits up.  It waits for that where partitions are
    named: so the first of ``topic`` is, by default that of each topic that there is, for a note may lie at any.
    """
    metadata = await patiently(lambda: cluster.metadata(None if topic is None else [topic]))
    places = [TopicPartition(name, 0) for name, one in metadata.topics.items() if one.error == 0 and not one.internal]
    named = await patiently(lambda: committed(cluster, [group], partitions=places)) if places else {group: {}}
    found = await patiently(lambda: committed(cluster, [group]))
    return {place: commit.metadata for place, commit in (found[group] | named[group]).items()}


def _check(cluster: Cluster, producer: TransactionalProducer, code: int, request: str, resource: str) -> None:
    if code in FENCED:
        raise FencedError(cluster.name, producer.transactional_id)
    cluster.check(code, request, resource)


async def patiently(ask: Callable[[], Awaitable[T]], retried: Retried | None = None) -> T:
    """Ask again while brokers are away, and tell ``retried`` each time; raises what the last attempt raised."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await ask()
        except AnabranchError as error:
            if not error.retryable or time.monotonic() > deadline:
                raise
        if retried is not None:
            retried()
        await asyncio.sleep(_PAUSE_S)
