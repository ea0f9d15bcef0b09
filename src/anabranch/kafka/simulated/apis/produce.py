"""Produce: what a leader refuses in a client's batch, and what it writes.

Source: ``LogValidator.java``, ``UnifiedLog.analyzeAndValidateRecords`` and ``ReplicaManager.appendRecords``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google_crc32c import value as crc32c
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from anabranch.errors import AnabranchError
from anabranch.kafka.simulated.access import REFUSED, TRANSACTIONAL_ID, WRITE
from anabranch.kafka.simulated.apis.common import led, may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.kafka.simulated.partition import TIMED_OUT, TOO_FEW, ReplicationWait, SimulatedPartition
from anabranch.kafka.simulated.settings import NEVER, TopicSettings
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, seal
from anabranch.records.header import (
    CONTROL,
    CRC_START,
    HEADER,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    BatchHeader,
    Codec,
    read_header,
)
from anabranch.records.record import TimestampType
from anabranch.records.split import split
from anabranch.records.varint import INT_BITS, read_rest

SERVER_ERROR, CORRUPT, TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD = -1, 2, 10, 32, 87
UNKNOWN_TOPIC_ID, NOT_LEADER, INVALID_TXN_STATE, INVALID_ACKS = 100, 6, 48, 21
BY_ID = 13
_CODECS = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}
_Reply = Callable[[Any], None]


def produce(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """Append to each partition what it takes; answer once all that wait for replicas know."""
    topics: list[tuple[Any, str]] = []
    answers: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    waiting = [1]
    for topic in request.topic_data:
        name = topic.name
        if version >= BY_ID:
            found = session.broker.cluster.by_id.get(topic.topic_id)
            name = "" if found is None else found.name
        topics.append((topic, name))

    def done() -> None:
        waiting[0] -= 1
        if waiting[0] == 0:
            reply(_response(version, topics, answers, session.broker.cluster.produce_throttle_ms))

    for at, (topic, name) in enumerate(topics):
        for number, part in enumerate(topic.partition_data):
            key = (at, number)
            if not name:
                answers[key] = (UNKNOWN_TOPIC_ID, -1, -1, -1)
                continue
            _one(session, request, name, part, key, answers, waiting, done)
    done()


def _one(
    session: ClientSession,
    request: Any,
    name: str,
    part: Any,
    key: tuple[int, int],
    answers: dict[tuple[int, int], tuple[int, int, int, int]],
    waiting: list[int],
    done: Callable[[], None],
) -> None:
    cluster = session.broker.cluster
    code, partition = led(session, WRITE, name, part.index)
    if code or partition is None:
        answers[key] = (code, -1, -1, -1)
        return
    if session.broker.stale is not None and partition.leader != session.broker.node:
        # It takes the batch, and nobody will ever fetch it: what its successor's log lacks is truncated.
        waiting[0] += 1
        answers[key] = (NOT_LEADER, -1, -1, -1)
        cluster.timers.call_later(cluster.chance.uniform(0.0, 0.2), done)
        return
    transactional_id = request.transactional_id
    if transactional_id is not None:
        code = may(session, WRITE, TRANSACTIONAL_ID, transactional_id)
    acks = request.acks
    if not code and acks not in {-1, 0, 1}:
        code = INVALID_ACKS
    if not code and acks == -1 and partition.lacks_replicas():
        code = TOO_FEW
    if code:
        answers[key] = (code, -1, -1, -1)
        return
    code, base, time = append(session, partition, bytes(part.records or b""), transactional_id)
    start = partition.led.log.start
    answers[key] = (code, base, time, start)
    if code or acks != -1:
        return
    end = partition.led.log.end if base < 0 else _end_of(partition, base)
    if end <= partition.high_watermark:
        return
    waiting[0] += 1

    def replicated(outcome: int) -> None:
        if outcome:
            answers[key] = (outcome, -1, -1, -1)
        done()

    waiter = ReplicationWait(end, replicated)
    partition.waiting.append(waiter)
    cluster.timers.call_later(max(0.0, request.timeout_ms / 1000), lambda: waiter.over(TIMED_OUT))


def _end_of(partition: SimulatedPartition, base: int) -> int:
    """The offset after the batch that begins at ``base``: a repeat waits for the replicas of the first."""
    for stored in reversed(partition.led.log.batches):
        if stored.header.base_offset == base:
            return stored.last + 1
    return base


def append(
    session: ClientSession, partition: SimulatedPartition, data: bytes, transactional_id: str | None
) -> tuple[int, int, int]:
    """Judge one partition's records and append them: (code, base offset, the log's append time or -1)."""
    cluster = session.broker.cluster
    now = cluster.timers.wall_ms()
    settings = partition.settings
    try:
        batches = split(memoryview(data))
    except AnabranchError:
        return CORRUPT, -1, -1
    if not data or sum(header.size for _, header in batches) != len(data):
        return CORRUPT, -1, -1
    if len(batches) != 1:
        return INVALID_RECORD, -1, -1
    header = batches[0][1]
    if crc32c(data[CRC_START:]) != header.crc:
        return CORRUPT, -1, -1
    code = _transaction_refusal(session, partition, header, transactional_id)
    if code:
        return code, -1, -1
    if len(data) > settings.number("max.message.bytes"):
        return TOO_LARGE, -1, -1
    if header.attributes & CONTROL or header.count < 1 or header.count != header.last_offset_delta + 1:
        return INVALID_RECORD, -1, -1
    code = _contents_refusal(settings, data, header)
    if code:
        return code, -1, -1
    stamped = settings.value("message.timestamp.type") == "LogAppendTime"
    if not stamped and not _in_time(settings, data, header, now):
        return INVALID_TIMESTAMP, -1, -1
    log = partition.led.log
    if header.producer_id >= 0:
        repeat = log.producers.duplicate(header)
        if repeat is not None:
            return 0, repeat.base_offset, -1
        code = log.producers.refusal(header)
        if code:
            return code, -1, -1
    written, header = _as_stored(settings, data, header, now, stamped=stamped)
    base = log.end
    log.append(written, header, partition.leader_epoch, now)
    cluster.appended(partition)
    return 0, base, now if stamped else -1


def _transaction_refusal(
    session: ClientSession, partition: SimulatedPartition, header: BatchHeader, transactional_id: str | None
) -> int:
    if not header.is_transactional:
        return 0
    if transactional_id is None:
        return REFUSED[TRANSACTIONAL_ID]
    transactions = session.broker.cluster.transactions
    known = transactions.has(
        transactional_id, header.producer_id, header.producer_epoch, partition.topic, partition.index
    )
    return 0 if known else INVALID_TXN_STATE


def _contents_refusal(settings: TopicSettings, data: bytes, header: BatchHeader) -> int:
    """What shows only in the records themselves; of a plain batch they are counted, and their keys looked at."""
    compacted = "compact" in settings.policy and "delete" not in settings.policy
    if header.attributes & 7 == 0 and not compacted:
        return 0 if _count(data) == header.count else INVALID_RECORD
    try:
        records = decode(memoryview(data), 0, header)
    except AnabranchError:
        return SERVER_ERROR
    if [record.offset - header.base_offset for record in records] != list(range(header.count)):
        return SERVER_ERROR if header.attributes & 7 else INVALID_RECORD
    if compacted and any(record.key is None for record in records):
        return INVALID_RECORD
    return 0


def _count(data: bytes) -> int:
    """How many records follow the header of a plain batch, by their lengths; -1 where these do not fit."""
    at, count = HEADER.size, 0
    try:
        while at < len(data):
            number = data[at]
            at += 1
            if number > 0x7F:
                number, at = read_rest(data, at, number, INT_BITS)
            at += number >> 1
            count += 1
    except (IndexError, ValueError):
        return -1
    return count if at == len(data) else -1


def _in_time(settings: TopicSettings, data: bytes, header: BatchHeader, now: int) -> bool:
    """Whether every record's own time is within the topic's limits; the batch's base may be a delete horizon."""
    before, after = (settings.number(f"message.timestamp.{side}.max.ms") for side in ("before", "after"))
    if header.max_timestamp - now > after:
        return False
    if before == NEVER:
        return True
    records = decode(memoryview(data), 0, header._replace(attributes=header.attributes & ~LOG_APPEND_TIME))
    return all(record.timestamp < 0 or now - record.timestamp <= before for record in records)


def _as_stored(
    settings: TopicSettings, data: bytes, header: BatchHeader, now: int, *, stamped: bool
) -> tuple[bytes, BatchHeader]:
    """The batch as the broker writes it: with its own clock, or in its topic's codec, where the topic says so."""
    codec = _CODECS.get(settings.value("compression.type"), header.codec)
    if codec is not header.codec:
        records = decode(memoryview(data), 0, header)
        kept = [record._replace(timestamp_type=TimestampType.CREATE_TIME) for record in records]
        data = seal(
            body_of(kept, range(len(kept))),
            count=header.count,
            last_offset_delta=header.last_offset_delta,
            timestamps=(header.base_timestamp, header.max_timestamp),
            attributes=header.attributes & ~7 | codec,
            producer=(header.producer_id, header.producer_epoch, header.base_sequence),
        )
        header = read_header(data)
    wanted = LOG_APPEND_TIME if stamped else 0
    if header.attributes & LOG_APPEND_TIME == wanted and not stamped:
        return data, header
    header = header._replace(attributes=header.attributes & ~LOG_APPEND_TIME | wanted)
    if stamped:
        header = header._replace(max_timestamp=now)
    body = data[HEADER.size :]
    head = HEADER.pack(*header)
    header = header._replace(crc=crc32c(head[CRC_START:] + body), batch_length=len(data) - LOG_OVERHEAD)
    return HEADER.pack(*header) + body, header


def _response(
    version: int,
    topics: list[tuple[Any, str]],
    answers: dict[tuple[int, int], tuple[int, int, int, int]],
    throttle_ms: int,
) -> Any:
    rows = []
    for at, (topic, _) in enumerate(topics):
        parts = []
        for number, part in enumerate(topic.partition_data):
            code, base, time, start = answers[at, number]
            parts.append(
                ProduceResponse.TopicProduceResponse.PartitionProduceResponse(
                    index=part.index,
                    error_code=code,
                    base_offset=base,
                    log_append_time_ms=time,
                    log_start_offset=start,
                    record_errors=[],
                    error_message=None,
                )
            )
        if version >= BY_ID:
            rows.append(ProduceResponse.TopicProduceResponse(topic_id=topic.topic_id, partition_responses=parts))
        else:
            rows.append(ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=parts))
    return ProduceResponse(responses=rows, throttle_time_ms=throttle_ms)


APIS = (Handler(ProduceRequest, produce),)
