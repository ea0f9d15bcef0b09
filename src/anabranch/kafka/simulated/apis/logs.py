"""What a broker tells of a partition's log: offsets, epochs, producers; and what shortens it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka.protocol.admin import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from kafka.protocol.consumer import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

from anabranch.kafka.simulated.access import DELETE, DESCRIBE, READ
from anabranch.kafka.simulated.apis.common import encoded, epoch_refusal, find, led, mine
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.partition import NOT_LEADER

LATEST, EARLIEST, NEWEST_TIME = -1, -2, -3
OUT_OF_RANGE, POLICY = 1, 44
DEBUGGER = -2
_Reply = Callable[[Any], None]


def offsets(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """ListOffsets: the ends of logs, and offsets by time."""
    rows = tuple(
        (
            topic.name,
            tuple((part.partition_index, *_offset(session, request, topic.name, part)) for part in topic.partitions),
        )
        for topic in request.topics
    )
    reply(encoded(_offsets, version, rows))


def _offsets(rows: Sequence[tuple[str, Sequence[tuple[int, int, int, int, int]]]]) -> Any:
    row = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = [
        row(
            name=name,
            partitions=[
                row.ListOffsetsPartitionResponse(
                    partition_index=index, error_code=code, timestamp=time, offset=offset, leader_epoch=epoch
                )
                for index, code, offset, time, epoch in parts
            ],
        )
        for name, parts in rows
    ]
    return ListOffsetsResponse(throttle_time_ms=0, topics=topics)


def _offset(session: ClientSession, request: Any, topic: str, part: Any) -> tuple[int, int, int, int]:
    code, partition = led(session, DESCRIBE, topic, part.partition_index)
    if partition is None:
        return code, -1, -1, -1
    code = epoch_refusal(session, partition, part.current_leader_epoch) or (
        code if request.replica_id != DEBUGGER else 0
    )
    if code:
        return code, -1, -1, -1
    replica = mine(session, partition)
    log = replica.log
    upto = partition.stable_end(replica) if request.isolation_level == 1 else replica.high_watermark
    if request.replica_id == DEBUGGER:
        upto = log.end
    if part.timestamp == LATEST:
        return 0, upto, -1, partition.leader_epoch
    if part.timestamp == EARLIEST:
        return 0, log.start, -1, log.epochs[0][0] if log.epochs else -1
    offset, time = log.newest_time() if part.timestamp == NEWEST_TIME else log.at_time(part.timestamp, upto)
    epoch = next((one for one, start in reversed(log.epochs) if start <= offset), -1) if offset >= 0 else -1
    return 0, offset, time, epoch


def epochs(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """OffsetForLeaderEpoch: where leader epochs end."""
    rows = []
    result = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    for topic in request.topics:
        parts = []
        for part in topic.partitions:
            code, partition = led(session, DESCRIBE, topic.topic, part.partition)
            epoch = end = -1
            if partition is not None:
                code = epoch_refusal(session, partition, part.current_leader_epoch) or code
                if not code:
                    log = mine(session, partition).log
                    epoch, end = log.epoch_end(part.leader_epoch, session.broker.leads(partition)[1])
            parts.append(
                result.EpochEndOffset(error_code=code, partition=part.partition, leader_epoch=epoch, end_offset=end)
            )
        rows.append(result(topic=topic.topic, partitions=parts))
    reply(OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=rows))


def producers(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeProducers: followers answer too."""
    rows = []
    row = DescribeProducersResponse.TopicResponse
    for topic in request.topics:
        parts = []
        for index in topic.partition_indexes:
            code, partition = find(session, READ, topic.name, index)
            entries = []
            if partition is not None and session.broker.node not in partition.replicas:
                code = NOT_LEADER
            elif partition is not None:
                entries = [
                    row.PartitionResponse.ProducerState(
                        producer_id=entry.producer_id,
                        producer_epoch=entry.epoch,
                        last_sequence=entry.last_sequence,
                        last_timestamp=entry.timestamp,
                        coordinator_epoch=entry.coordinator_epoch,
                        current_txn_start_offset=entry.start,
                    )
                    for entry in mine(session, partition).log.producers.entries.values()
                ]
            parts.append(
                row.PartitionResponse(
                    partition_index=index, error_code=code, error_message=None, active_producers=entries
                )
            )
        rows.append(row(name=topic.name, partitions=parts))
    reply(DescribeProducersResponse(throttle_time_ms=0, topics=rows))


def delete(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DeleteRecords: have logs begin later."""
    rows = []
    row = DeleteRecordsResponse.DeleteRecordsTopicResult
    for topic in request.topics:
        parts = []
        for part in topic.partitions:
            code, partition = led(session, DELETE, topic.name, part.partition_index)
            start = -1
            if not code and partition is not None:
                upto = partition.high_watermark
                offset = upto if part.offset == -1 else part.offset
                if "delete" not in partition.settings.policy:
                    code = POLICY
                elif not 0 <= offset <= upto:
                    code = OUT_OF_RANGE
                else:
                    for replica in partition.replicas.values():
                        if replica.log.start < offset <= replica.log.end:
                            replica.log.delete_before(offset)
                    start = partition.led.log.start
            parts.append(
                row.DeleteRecordsPartitionResult(
                    partition_index=part.partition_index, low_watermark=start, error_code=code
                )
            )
        rows.append(row(name=topic.name, partitions=parts))
    reply(DeleteRecordsResponse(throttle_time_ms=0, topics=rows))


APIS = (
    Handler(ListOffsetsRequest, offsets, is_repeated=True),
    Handler(OffsetForLeaderEpochRequest, epochs, is_repeated=True),
    Handler(DescribeProducersRequest, producers),
    Handler(DeleteRecordsRequest, delete),
)
