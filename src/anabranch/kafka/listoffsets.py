"""ListOffsets, by hand: it is the question that a link asks most, and the generic codec makes an object of each field.

Versions 6 and 7 are the same on the wire, and the first that are flexible; every broker that a link reads from or
writes to has them (Kafka 2.8).  Source: ListOffsetsRequest.json, ListOffsetsResponse.json.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import ProtocolError
from anabranch.kafka.compact import read_string, read_uvarint, skip_tags, uvarint
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import UnsupportedApiError
from anabranch.kafka.frames import Frame

API_KEY = 2
OLDEST, NEWEST = 6, 7
_HEAD = struct.Struct(">ib")
_PARTITION = struct.Struct(">iiqx")
_ANSWER = struct.Struct(">ihqqi")
_NO_REPLICA = -1


@dataclass(frozen=True, slots=True)
class OffsetAnswer:
    """ListOffsets' answer for one partition; ``offset`` is -1 where no record matches."""

    code: int
    offset: int
    timestamp: int


class ListOffsetsResponseError(ProtocolError):
    """A ListOffsets response that does not read as its version says."""


async def ask(
    connection: Connection, wanted: Mapping[tuple[str, int], tuple[int, int]], isolation: int, timeout: float = 30.0
) -> dict[tuple[str, int], OffsetAnswer]:
    """Many look-ups at one leader: (topic, partition) -> (time stamp or sentinel, leader epoch)."""
    newest = connection.offers(API_KEY)
    if newest < OLDEST:
        offered = f"v0 to v{newest}" if newest >= 0 else "not"
        raise UnsupportedApiError(connection.security.cluster, "ListOffsets", f"v{OLDEST} to v{NEWEST}", offered)
    frame = await connection.submit(API_KEY, min(newest, NEWEST), True, (_request(wanted, isolation),), timeout)
    try:
        return _parse(frame)
    finally:
        frame.release()


def _request(wanted: Mapping[tuple[str, int], tuple[int, int]], isolation: int) -> bytes:
    by_topic: dict[str, list[bytes]] = {}
    for (topic, partition), (at, epoch) in wanted.items():
        by_topic.setdefault(topic, []).append(_PARTITION.pack(partition, epoch, at))
    parts = [_HEAD.pack(_NO_REPLICA, isolation), uvarint(len(by_topic) + 1)]
    for topic, partitions in by_topic.items():
        raw = topic.encode()
        parts += (uvarint(len(raw) + 1), raw, uvarint(len(partitions) + 1), *partitions, b"\0")
    parts.append(b"\0")
    return b"".join(parts)


def _parse(frame: Frame) -> dict[tuple[str, int], OffsetAnswer]:
    view = frame.view
    answers: dict[tuple[str, int], OffsetAnswer] = {}
    try:
        at = skip_tags(view, 4) + 4  # past the throttle time
        topics, at = read_uvarint(view, at)
        for _ in range(topics - 1):
            topic, at = read_string(view, at)
            partitions, at = read_uvarint(view, at)
            for _ in range(partitions - 1):
                partition, code, timestamp, offset, _ = _ANSWER.unpack_from(view, at)
                at = skip_tags(view, at + _ANSWER.size)
                answers[(topic, partition)] = OffsetAnswer(code, offset, timestamp)
            at = skip_tags(view, at)
    except (IndexError, ValueError, struct.error) as error:
        raise ListOffsetsResponseError from error
    return answers
