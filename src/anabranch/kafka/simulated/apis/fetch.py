"""Fetch: batches up to the high watermark or the last stable offset, in sessions or without, waiting for more.

Source: ``KafkaApis.handleFetchRequest``, ``DelayedFetch``, ``FetchSession.scala``, KIP-219 (throttled answers),
KIP-227, KIP-595 (diverging epochs).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from kafka.protocol.consumer import FetchRequest, FetchResponse

from anabranch.kafka.simulated.access import READ
from anabranch.kafka.simulated.apis.common import epoch_refusal, find, mine
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.log import AbortedTransaction, SimulatedBatch
from anabranch.kafka.simulated.partition import NOT_LEADER, SimulatedPartition
from anabranch.kafka.simulated.sessions import CachedPartition, FetchPosition, Key, SimulatedFetchSession

OUT_OF_RANGE, UNKNOWN_TOPIC_ID, UNKNOWN = 1, 100, 3
BY_ID, READ_COMMITTED = 13, 1
FULL, FINAL = 0, -1
_Reply = Callable[[Any], None]


class _PartitionData(NamedTuple):
    """What one partition has for a reader."""

    code: int
    high_watermark: int = -1
    stable: int = -1
    start: int = -1
    batches: tuple[SimulatedBatch, ...] = ()
    aborted: tuple[AbortedTransaction, ...] = ()
    diverging: tuple[int, int] | None = None
    partition: SimulatedPartition | None = None

    @property
    def size(self) -> int:
        return sum(len(batch.data) for batch in self.batches)


def fetch(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Answer at once where there is something to say, else when there is, or when the time is over."""
    broker, cluster = session.broker, session.broker.cluster
    by_id = version >= BY_ID
    positions = _positions(request, by_id)
    sessions = broker.fetch_sessions
    number, epoch = getattr(request, "session_id", 0) or 0, getattr(request, "session_epoch", -1)
    keeps: SimulatedFetchSession | None = None
    if version >= 7 and epoch == FULL:
        sessions.end(number)
        reads = {key: CachedPartition(wanted) for key, wanted in positions.items()}
        keeps = sessions.begin(by_id, reads) if reads else None
    elif version >= 7 and epoch == FINAL:
        sessions.end(number)
        reads = {key: CachedPartition(wanted) for key, wanted in positions.items()}
    elif version >= 7:
        found = sessions.find(number, epoch, by_id)
        if isinstance(found, int):
            reply(FetchResponse(throttle_time_ms=0, error_code=found, session_id=0, responses=[]))
            return
        keeps = found
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                keeps.reads.pop(((topic.topic_id if by_id else topic.topic), index), None)
        for key, wanted in positions.items():
            if key in keeps.reads:
                keeps.reads[key].wanted = wanted
            else:
                keeps.reads[key] = CachedPartition(wanted)
        reads = keeps.reads
    else:
        reads = {key: CachedPartition(wanted) for key, wanted in positions.items()}
    incremental = keeps is not None and epoch > 0
    isolation = getattr(request, "isolation_level", 0)
    is_over = [False]
    deadline = cluster.timers.monotonic() + request.max_wait_ms / 1000

    def look() -> None:
        if is_over[0]:
            return
        answers = _read(session, reads, isolation, request.max_bytes)
        told = {
            key: one
            for key, one in answers.items()
            if not incremental or one.code or one.diverging or one.batches or _is_news(reads[key], one)
        }
        enough = sum(answer.size for answer in answers.values()) >= max(1, request.min_bytes)
        urgent = any(one.code or one.diverging for one in answers.values())
        late = cluster.timers.monotonic() >= deadline
        if not (enough or urgent or late or request.min_bytes <= 0 or not reads):
            for one in answers.values():
                if one.partition is not None:
                    one.partition.watchers.append(look)
            return
        is_over[0] = True
        if cluster.throttles:
            if keeps is not None and not incremental:
                sessions.end(keeps.id)
            reply(_throttled(cluster.throttles.pop(0), keeps.id if keeps is not None and incremental else 0))
            return
        for key, one in told.items():
            if not one.code:
                reads[key].high_watermark, reads[key].log_start = one.high_watermark, one.start
        if keeps is not None and any(one.code for one in told.values()):
            for key, one in told.items():  # what was refused is told in each answer
                if one.code:
                    reads[key].high_watermark = reads[key].log_start = -1
        reply(_response(told, by_id, 0 if keeps is None else keeps.id))

    if request.max_wait_ms > 0:
        cluster.timers.call_later(request.max_wait_ms / 1000, lambda: broker.do(look))
    look()


def _positions(request: Any, by_id: bool) -> dict[Key, FetchPosition]:
    return {
        ((topic.topic_id if by_id else topic.topic), part.partition): FetchPosition(
            part.current_leader_epoch if part.current_leader_epoch is not None else -1,
            part.fetch_offset,
            part.last_fetched_epoch if part.last_fetched_epoch is not None else -1,
            part.partition_max_bytes,
        )
        for topic in request.topics
        for part in topic.partitions
    }


def _is_news(read: CachedPartition, found: _PartitionData) -> bool:
    return read.high_watermark != found.high_watermark or read.log_start != found.start


def _read(
    session: ClientSession, reads: dict[Key, CachedPartition], isolation: int, max_bytes: int
) -> dict[Key, _PartitionData]:
    left, answers = max_bytes, dict[Key, _PartitionData]()
    for key, read in reads.items():
        found = _one(session, key, read.wanted, isolation, left, first=left == max_bytes)
        left -= found.size
        answers[key] = found
    return answers


def _one(
    session: ClientSession, key: Key, wanted: FetchPosition, isolation: int, left: int, *, first: bool
) -> _PartitionData:
    name, index = key
    if isinstance(name, uuid.UUID):
        topic = session.broker.cluster.by_id.get(name)
        if topic is None or topic.known[session.broker.node] > session.broker.cluster.timers.monotonic():
            return _PartitionData(UNKNOWN_TOPIC_ID)
        name = topic.name
    code, partition = find(session, READ, name, index)
    if partition is None:
        return _PartitionData(code)
    if session.broker.node not in partition.replicas:
        return _PartitionData(NOT_LEADER)
    code = epoch_refusal(session, partition, wanted.leader_epoch)
    if code:
        return _PartitionData(code)
    replica = mine(session, partition)
    log = replica.log
    stable = partition.stable_end(replica)
    ends = (replica.high_watermark, stable if isolation == READ_COMMITTED else -1, log.start)
    if wanted.last_epoch >= 0:
        epoch, end = log.epoch_end(wanted.last_epoch, session.broker.leads(partition)[1])
        if epoch < 0 or end < 0:
            return _PartitionData(
                OUT_OF_RANGE, partition=None
            )  # "could not determine the end offset of the last fetched epoch"
        if epoch < wanted.last_epoch or end < wanted.offset:
            diverging = (epoch, end)
            return _PartitionData(0, *ends, diverging=diverging, partition=partition)
    if not log.start <= wanted.offset <= log.end:
        return _PartitionData(OUT_OF_RANGE, partition=None)
    upto = stable if isolation == READ_COMMITTED else replica.high_watermark
    room = min(wanted.max_bytes, left)
    batches = tuple(log.read(wanted.offset, upto, room)) if (room > 0 or first) and wanted.offset < upto else ()
    if batches and not first and sum(len(batch.data) for batch in batches) > room:
        batches = ()
    aborted: tuple[AbortedTransaction, ...] = ()
    if batches and isolation == READ_COMMITTED:
        aborted = tuple(log.aborted_within(wanted.offset, batches[-1].last + 1))
    return _PartitionData(0, *ends, batches, aborted, None, partition)


def _response(told: dict[Key, _PartitionData], by_id: bool, number: int) -> Any:
    topics: dict[str | uuid.UUID, list[Any]] = {}
    row = FetchResponse.FetchableTopicResponse
    part = row.PartitionData
    for (name, index), one in told.items():
        extra = {}
        if one.diverging is not None:
            extra["diverging_epoch"] = part.EpochEndOffset(epoch=one.diverging[0], end_offset=one.diverging[1])
        topics.setdefault(name, []).append(
            part(
                partition_index=index,
                error_code=one.code,
                high_watermark=one.high_watermark,
                last_stable_offset=one.stable,
                log_start_offset=one.start,
                aborted_transactions=[
                    part.AbortedTransaction(producer_id=each.producer_id, first_offset=each.first)
                    for each in one.aborted
                ],
                preferred_read_replica=-1,
                records=b"".join(each.data for each in one.batches),
                **extra,
            )
        )
    responses = [
        row(topic_id=name, partitions=parts) if by_id else row(topic=name, partitions=parts)
        for name, parts in topics.items()
    ]
    return FetchResponse(throttle_time_ms=0, error_code=0, session_id=number, responses=responses)


def _throttled(milliseconds: int, number: int) -> Any:
    """What a client gets whose quota is exceeded (KIP-219): no error, and no partition; a new session is not kept."""
    return FetchResponse(throttle_time_ms=milliseconds, error_code=0, session_id=number, responses=[])


APIS = (Handler(FetchRequest, fetch, is_repeated=True),)
