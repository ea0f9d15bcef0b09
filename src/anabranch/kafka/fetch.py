"""Fetch, by hand: the generic codec would copy every record section and build an object for each field.

Versions 12 (topic names) and 13 (topic ids, KIP-516): both carry the last fetched epoch and answer with a
diverging one where the source's log was truncated (KIP-595).  Source: FetchRequest.json, FetchResponse.json.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from anabranch.errors import ProtocolError
from anabranch.kafka.compact import read_string, read_uvarint, skip_tags, uvarint
from anabranch.kafka.connection import Connection
from anabranch.kafka.frames import Frame

API_KEY = 1
BY_NAME, BY_ID = 12, 13
NO_SESSION = (0, -1)
LEAST_PAUSE_S, MOST_PAUSE_S = 0.05, 10.0
"""A broker that throttles reads nothing from the connection anyway: whoever asks too early waits there."""
_REQUEST = struct.Struct(">iiiibii")
_PARTITION = struct.Struct(">iiqiqi")
_TOP = struct.Struct(">ihi")
_ANSWER = struct.Struct(">ihqqq")
_DIVERGING = struct.Struct(">iq")


class PartitionFetch(NamedTuple):
    """One partition to read from ``offset``; epochs are -1 where unknown, ``max_bytes`` is a wish."""

    topic: str
    topic_id: uuid.UUID
    partition: int
    leader_epoch: int
    offset: int
    last_epoch: int
    max_bytes: int


class Fetched(NamedTuple):
    """One partition's answer; ``records`` is a writable view into the frame, empty where there was nothing."""

    topic: str | uuid.UUID
    partition: int
    code: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview
    diverging: tuple[int, int] | None


class FetchResponseError(ProtocolError):
    """A Fetch response that does not read as its version says."""


def version_for(connection: Connection) -> int:
    """13 where the broker takes topic ids, else 12."""
    return BY_ID if connection.offers(API_KEY) >= BY_ID else BY_NAME


def submit(
    connection: Connection,
    wanted: Iterable[PartitionFetch],
    *,
    max_wait_ms: int,
    max_bytes: int,
    min_bytes: int = 1,
    isolation: int = 0,
    timeout: float = 30.0,
    session: tuple[int, int] = NO_SESSION,
    forgotten: Iterable[PartitionFetch] = (),
) -> asyncio.Future[Frame]:
    """Send a fetch and return the future frame; ``parse`` reads it.

    ``session`` is its id and epoch (KIP-227); what is ``forgotten`` is no longer read in it.
    """
    version = version_for(connection)
    topics = _by_topic(wanted)
    parts = [_REQUEST.pack(-1, max_wait_ms, min_bytes, max_bytes, isolation, *session), uvarint(len(topics) + 1)]
    for partitions in topics:
        parts.append(_topic(partitions[0], version))
        parts.append(uvarint(len(partitions) + 1))
        parts.extend(
            _PARTITION.pack(one.partition, one.leader_epoch, one.offset, one.last_epoch, -1, one.max_bytes) + b"\0"
            for one in partitions
        )
        parts.append(b"\0")
    topics = _by_topic(forgotten)
    parts.append(uvarint(len(topics) + 1))
    for partitions in topics:
        parts.append(_topic(partitions[0], version))
        parts.append(uvarint(len(partitions) + 1))
        parts.extend(partition.partition.to_bytes(4) for partition in partitions)
        parts.append(b"\0")
    parts.append(b"\x01\0")  # an empty rack, no tags
    return connection.submit(API_KEY, version, True, parts, timeout + max_wait_ms / 1000)


def _by_topic(wanted: Iterable[PartitionFetch]) -> list[list[PartitionFetch]]:
    topics: dict[tuple[str, uuid.UUID], list[PartitionFetch]] = {}
    for one in wanted:
        topics.setdefault((one.topic, one.topic_id), []).append(one)
    return list(topics.values())


def _topic(one: PartitionFetch, version: int) -> bytes:
    if version >= BY_ID:
        return one.topic_id.bytes
    raw = one.topic.encode()
    return uvarint(len(raw) + 1) + raw


def session_of(frame: Frame) -> int:
    """The id of the session that an answer belongs to; 0 where the broker keeps none.  Raises FetchResponseError."""
    try:
        return int(_TOP.unpack_from(frame.view, skip_tags(frame.view, 4))[2])
    except (IndexError, ValueError, struct.error) as error:
        raise FetchResponseError from error


def throttle_of(frame: Frame) -> float:
    """For how many seconds the broker throttles whoever gets this answer.  Raises FetchResponseError."""
    try:
        return float(_TOP.unpack_from(frame.view, skip_tags(frame.view, 4))[0]) / 1000
    except (IndexError, ValueError, struct.error) as error:
        raise FetchResponseError from error


def pause_of(frame: Frame) -> float:
    """For how many seconds to wait after an answer that tells nothing.  Raises FetchResponseError."""
    return min(MOST_PAUSE_S, max(LEAST_PAUSE_S, throttle_of(frame)))


def parse(frame: Frame, version: int) -> tuple[int, list[Fetched]]:
    """(code of the whole answer, answers by partition); the views live as long as the frame is held."""
    view = frame.view
    empty = view[:0]
    answers: list[Fetched] = []
    try:
        at = skip_tags(view, 4)
        _, code, _ = _TOP.unpack_from(view, at)
        count, at = read_uvarint(view, at + _TOP.size)
        for _ in range(count - 1):
            topic: str | uuid.UUID
            if version >= BY_ID:
                topic = uuid.UUID(bytes=bytes(view[at : at + 16]))
                at += 16
            else:
                topic, at = read_string(view, at)
            partitions, at = read_uvarint(view, at)
            for _ in range(partitions - 1):
                partition, error, high, stable, start = _ANSWER.unpack_from(view, at)
                at += _ANSWER.size
                aborted_count, at = read_uvarint(view, at)
                aborted = []
                for _ in range(aborted_count - 1):
                    aborted.append(struct.unpack_from(">qq", view, at))
                    at = skip_tags(view, at + 16)
                length, at = read_uvarint(view, at + 4)  # past the preferred read replica
                records = empty
                if length > 1:
                    records = view[at : at + length - 1]
                    at += length - 1
                diverging = None
                tags, at = read_uvarint(view, at)
                for _ in range(tags):
                    tag, at = read_uvarint(view, at)
                    size, at = read_uvarint(view, at)
                    if tag == 0:
                        diverging = _DIVERGING.unpack_from(view, at)
                    at += size
                answers.append(
                    Fetched(topic, partition, error, high, stable, start, tuple(aborted), records, diverging)
                )
            at = skip_tags(view, at)
    except (IndexError, ValueError, struct.error) as error:
        raise FetchResponseError from error
    return code, answers
