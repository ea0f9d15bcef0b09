"""Producer ids, transactions, and the markers that fence.

Source: ``KafkaApis.handleWriteTxnMarkersRequest``, KIP-98, KIP-664 for what may be listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

from anabranch.kafka.simulated.access import (
    ALTER,
    CLUSTER,
    CLUSTER_ACTION,
    CLUSTER_NAME,
    DESCRIBE,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    REFUSED,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
)
from anabranch.kafka.simulated.apis.common import may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.groups import CommittedOffset
from anabranch.kafka.simulated.partition import TIMED_OUT, TOO_FEW, ReplicationWait
from anabranch.kafka.simulated.transactions import append_marker

NOT_COORDINATOR, NO_SUCH_ID = 16, 105
_Reply = Callable[[Any], None]


def producer_id(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """InitProducerId, with a transactional id and without."""
    cluster = session.broker.cluster
    name = request.transactional_id
    code, number, epoch = 0, -1, -1
    if name is None:
        allowed = cluster.access.allows(session.principal, session.host, IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)
        if not allowed and not cluster.access.anywhere(session.principal, session.host, WRITE, TOPIC):
            code = REFUSED[CLUSTER]
        else:
            number, epoch = cluster.transactions.new_producer_id(), 0
    else:
        code = may(session, WRITE, TRANSACTIONAL_ID, name) or _elsewhere(session, name)
        if not code:
            code, number, epoch = cluster.transactions.begin(name, request.transaction_timeout_ms)
    reply(InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_id=number, producer_epoch=epoch))


def _elsewhere(session: ClientSession, key: str) -> int:
    return 0 if session.broker.cluster.coordinator(key) == session.broker.node else NOT_COORDINATOR


def add_partitions(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """AddPartitionsToTxn up to v3, as clients send it."""
    cluster = session.broker.cluster
    name = request.v3_and_below_transactional_id
    wanted = {(topic.name, index) for topic in request.v3_and_below_topics for index in topic.partitions}
    code = may(session, WRITE, TRANSACTIONAL_ID, name) or _elsewhere(session, name)
    codes = dict.fromkeys(wanted, code)
    if not code:
        for topic, index in wanted:
            found = cluster.topics.get(topic)
            missing = 3 if found is None or index >= len(found.partitions) else 0
            codes[topic, index] = may(session, WRITE, TOPIC, topic) or missing
        if any(codes.values()):
            codes = {place: one or 55 for place, one in codes.items()}  # OPERATION_NOT_ATTEMPTED
        else:
            code = cluster.transactions.add(
                name, request.v3_and_below_producer_id, request.v3_and_below_producer_epoch, wanted
            )
            codes = dict.fromkeys(wanted, code)
    row = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    reply(
        AddPartitionsToTxnResponse(
            throttle_time_ms=0,
            results_by_topic_v3_and_below=[
                row(
                    name=topic.name,
                    results_by_partition=[
                        row.AddPartitionsToTxnPartitionResult(
                            partition_index=index, partition_error_code=codes[topic.name, index]
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ],
        )
    )


def add_offsets(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """AddOffsetsToTxn: a group's commits are to come in the transaction."""
    name = request.transactional_id
    code = may(session, WRITE, TRANSACTIONAL_ID, name) or may(session, READ, GROUP, request.group_id)
    code = code or _elsewhere(session, name)
    if not code:
        code = session.broker.cluster.transactions.add(
            name, request.producer_id, request.producer_epoch, set(), request.group_id
        )
    reply(AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code))


def commit_offsets(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """TxnOffsetCommit: positions that count once the transaction is committed."""
    cluster = session.broker.cluster
    code = may(session, READ, GROUP, request.group_id)
    commits = {
        (topic.name, part.partition_index): CommittedOffset(part.committed_offset, part.committed_metadata or "", -1)
        for topic in request.topics
        for part in topic.partitions
    }
    if not code:
        cluster.groups.commit_later(request.group_id, request.producer_id, commits)
    row = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    reply(
        TxnOffsetCommitResponse(
            throttle_time_ms=0,
            topics=[
                row(
                    name=topic.name,
                    partitions=[
                        row.TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)
                        for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )
    )


def end(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """EndTxn."""
    name = request.transactional_id
    code = may(session, WRITE, TRANSACTIONAL_ID, name) or _elsewhere(session, name)
    if not code:
        code = session.broker.cluster.transactions.end(
            name, request.producer_id, request.producer_epoch, commit=request.committed
        )
    reply(EndTxnResponse(throttle_time_ms=0, error_code=code))


def markers(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """WriteTxnMarkers: what coordinators send to leaders, and who may act as one."""
    cluster = session.broker.cluster
    allowed = any(
        cluster.access.allows(session.principal, session.host, operation, CLUSTER, CLUSTER_NAME)
        for operation in (ALTER, CLUSTER_ACTION)
    )
    codes: dict[tuple[int, str, int], int] = {}
    waiting = [1]
    row = WriteTxnMarkersResponse.WritableTxnMarkerResult

    def done() -> None:
        waiting[0] -= 1
        if waiting[0]:
            return
        by_id: dict[int, dict[str, dict[int, int]]] = {}
        for (number, topic, index), code in codes.items():
            by_id.setdefault(number, {}).setdefault(topic, {})[index] = code
        reply(
            WriteTxnMarkersResponse(
                markers=[
                    row(
                        producer_id=number,
                        topics=[
                            row.WritableTxnMarkerTopicResult(
                                name=topic,
                                partitions=[
                                    row.WritableTxnMarkerTopicResult.WritableTxnMarkerPartitionResult(
                                        partition_index=index, error_code=code
                                    )
                                    for index, code in parts.items()
                                ],
                            )
                            for topic, parts in topics.items()
                        ],
                    )
                    for number, topics in by_id.items()
                ]
            )
        )

    for marker in request.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                key = (marker.producer_id, topic.name, index)
                codes[key] = REFUSED[CLUSTER] if not allowed else _mark(session, marker, key, codes, waiting, done)
    done()


def _mark(
    session: ClientSession,
    marker: Any,
    key: tuple[int, str, int],
    codes: dict[tuple[int, str, int], int],
    waiting: list[int],
    done: Callable[[], None],
) -> int:
    cluster = session.broker.cluster
    topic = cluster.topics.get(key[1])
    now = cluster.timers.monotonic()
    if topic is None or key[2] >= len(topic.partitions) or topic.known[session.broker.node] > now:
        return 3
    partition = topic.partitions[key[2]]
    if session.broker.node not in partition.replicas:
        return 3
    if session.broker.leads(partition)[0] != session.broker.node:
        return 6
    if session.broker.stale is not None and partition.leader != session.broker.node:
        return 6
    if partition.lacks_replicas():
        return TOO_FEW
    refused = partition.led.log.producers.marker_refusal(
        marker.producer_id, marker.producer_epoch, marker.coordinator_epoch
    )
    if refused:
        return refused
    end = append_marker(
        cluster,
        partition,
        marker.producer_id,
        marker.producer_epoch,
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
    )
    if end <= partition.high_watermark:
        return 0
    waiting[0] += 1

    def replicated(code: int) -> None:
        codes[key] = code
        done()

    waiter = ReplicationWait(end, replicated)
    partition.waiting.append(waiter)
    cluster.timers.call_later(cluster.number("request.timeout.ms") / 1000, lambda: waiter.over(TIMED_OUT))
    return 0


def listed(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """ListTransactions of this broker, of the ids that the client may see."""
    cluster = session.broker.cluster
    rows = []
    for one in cluster.transactions.known.values():
        if cluster.coordinator(one.id) != session.broker.node or may(session, DESCRIBE, TRANSACTIONAL_ID, one.id):
            continue
        if request.producer_id_filters and one.producer_id not in request.producer_id_filters:
            continue
        if request.state_filters and one.state.value not in request.state_filters:
            continue
        rows.append(
            ListTransactionsResponse.TransactionState(
                transactional_id=one.id, producer_id=one.producer_id, transaction_state=one.state.value
            )
        )
    reply(ListTransactionsResponse(throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=rows))


def described(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeTransactions."""
    cluster = session.broker.cluster
    rows = []
    row = DescribeTransactionsResponse.TransactionState
    for name in request.transactional_ids:
        code = may(session, DESCRIBE, TRANSACTIONAL_ID, name) or _elsewhere(session, name)
        one = cluster.transactions.known.get(name)
        if not code and one is None:
            code = NO_SUCH_ID
        if code or one is None:
            rows.append(
                row(
                    error_code=code,
                    transactional_id=name,
                    transaction_state="",
                    transaction_timeout_ms=0,
                    transaction_start_time_ms=0,
                    producer_id=-1,
                    producer_epoch=-1,
                    topics=[],
                )
            )
            continue
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(one.partitions):
            topics.setdefault(topic, []).append(index)
        rows.append(
            row(
                error_code=0,
                transactional_id=name,
                transaction_state=one.state.value,
                transaction_timeout_ms=one.timeout_ms,
                transaction_start_time_ms=one.started_ms,
                producer_id=one.producer_id,
                producer_epoch=one.epoch,
                topics=[row.TopicData(topic=topic, partitions=parts) for topic, parts in topics.items()],
            )
        )
    reply(DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=rows))


APIS = (
    Handler(InitProducerIdRequest, producer_id),
    Handler(AddPartitionsToTxnRequest, add_partitions),
    Handler(AddOffsetsToTxnRequest, add_offsets),
    Handler(TxnOffsetCommitRequest, commit_offsets),
    Handler(EndTxnRequest, end),
    Handler(WriteTxnMarkersRequest, markers),
    Handler(ListTransactionsRequest, listed),
    Handler(DescribeTransactionsRequest, described),
)
