"""Produce, by hand: batches go to the socket as they are, one per partition and request (ProduceRequest v3+).

Versions 9 (topic names) and 13 (topic ids, KIP-516), always with acks from the whole in-sync set.  Inside a transaction
it is always version 9: from 12 on a broker adds partitions to the transaction by itself (KIP-890), whose epoch then
changes at each end, which one client alone could follow.  Source: ProduceRequest.json, ProduceResponse.json.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from anabranch.errors import ProtocolError
from anabranch.kafka.compact import read_string, read_uvarint, skip_tags, uvarint
from anabranch.kafka.connection import Connection, Part
from anabranch.kafka.frames import Frame

API_KEY = 0
BY_NAME, BY_ID = 9, 13
_HEAD = struct.Struct(">hi")
_THROTTLE = struct.Struct(">i")
_ANSWER = struct.Struct(">ihqqq")


class Outgoing(NamedTuple):
    """One patched batch for one partition."""

    topic: str
    topic_id: uuid.UUID
    partition: int
    batch: Part


class Produced(NamedTuple):
    """One partition's acknowledgement; ``base_offset`` is meaningful with code 0."""

    topic: str | uuid.UUID
    partition: int
    code: int
    base_offset: int
    log_start: int
    detail: str


class ProduceResponseError(ProtocolError):
    """A Produce response that does not read as its version says."""


def version_for(connection: Connection) -> int:
    """13 where the broker takes topic ids, else 9."""
    return BY_ID if connection.offers(API_KEY) >= BY_ID else BY_NAME


def submit(
    connection: Connection,
    batches: Iterable[Outgoing],
    *,
    timeout_ms: int = 30_000,
    margin: float = 5.0,
    transactional_id: str | None = None,
) -> asyncio.Future[Frame]:
    """Send one batch each for some partitions; the future's frame is read by ``parse``.

    With a transactional id the batches are transactional ones, and the answer is of version ``BY_NAME``.
    """
    version = version_for(connection) if transactional_id is None else BY_NAME
    topics: dict[str, list[Outgoing]] = {}
    for batch in batches:
        topics.setdefault(batch.topic, []).append(batch)
    whose = b"" if transactional_id is None else transactional_id.encode()
    parts: list[Part] = [
        uvarint(0 if transactional_id is None else len(whose) + 1) + whose,
        _HEAD.pack(-1, timeout_ms) + uvarint(len(topics) + 1),
    ]
    for name, partitions in topics.items():
        if version >= BY_ID:
            parts.append(partitions[0].topic_id.bytes)
        else:
            raw = name.encode()
            parts.append(uvarint(len(raw) + 1) + raw)
        parts.append(uvarint(len(partitions) + 1))
        for partition in partitions:
            parts.append(partition.partition.to_bytes(4) + uvarint(len(partition.batch) + 1))
            parts.append(partition.batch)
            parts.append(b"\0")
        parts.append(b"\0")
    parts.append(b"\0")
    return connection.submit(API_KEY, version, True, parts, timeout_ms / 1000 + margin)


def parse(frame: Frame, version: int) -> list[Produced]:
    """The acknowledgements of one response."""
    return parse_with_throttle(frame, version)[1]


def parse_with_throttle(frame: Frame, version: int) -> tuple[float, list[Produced]]:
    """For how many seconds the broker throttles whoever gets this response, and its acknowledgements."""
    view = frame.view
    answers: list[Produced] = []
    try:
        at = skip_tags(view, 4)
        count, at = read_uvarint(view, at)
        for _ in range(count - 1):
            topic: str | uuid.UUID
            if version >= BY_ID:
                topic = uuid.UUID(bytes=bytes(view[at : at + 16]))
                at += 16
            else:
                topic, at = read_string(view, at)
            partitions, at = read_uvarint(view, at)
            for _ in range(partitions - 1):
                partition, code, base, _, start = _ANSWER.unpack_from(view, at)
                errors, at = read_uvarint(view, at + _ANSWER.size)
                for _ in range(errors - 1):
                    _, at = read_string(view, at + 4)
                    at = skip_tags(view, at)
                detail, at = read_string(view, at)
                at = skip_tags(view, at)
                answers.append(Produced(topic, partition, code, base, start, detail))
            at = skip_tags(view, at)
        (throttle_ms,) = _THROTTLE.unpack_from(view, at)
    except (IndexError, ValueError, struct.error) as error:
        raise ProduceResponseError from error
    return throttle_ms / 1000, answers
