"""The records of MirrorMaker 2's topics, byte by byte.

A string is its length in two bytes and UTF-8; numbers are big-endian.  Values of checkpoints and heartbeats begin with
a version, 0 in every Kafka so far; what later versions append is passed over, as Kafka's own reader does.
Source: ``OffsetSync.java``, ``MirrorCheckpoint.java``, ``Heartbeat.java`` of connect-mirror and connect-mirror-client.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from anabranch.errors import ProtocolError
from anabranch.mirrormaker.store import OffsetSync
from anabranch.model.topics import TopicPartition

_VERSION = 0
_LONGEST = 32767
_SYNC = struct.Struct(">qq")
_CHECKPOINT = struct.Struct(">hqq")
_HEARTBEAT = struct.Struct(">hq")


@dataclass(eq=False)
class MirrorRecordError(ProtocolError):
    """A record in a topic of MirrorMaker 2 in another format than its own."""

    kind: str
    problem: str

    _message = "not a {kind} of MirrorMaker 2: {problem}"
    _hint = "is this MirrorMaker's topic, under its separator? See replication.policy.separator in its properties"


@dataclass(frozen=True, slots=True)
class MirrorCheckpoint:
    """A group's position on both sides: ``partition`` is the target's, by the name that the copy has there."""

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life of one flow; milliseconds since 1970."""

    source: str
    target: str
    timestamp: int


def encode_sync(partition: TopicPartition, sync: OffsetSync) -> tuple[bytes, bytes]:
    """(key, value) of an offset sync of a source partition."""
    return _string(partition.topic) + struct.pack(">i", partition.partition), _SYNC.pack(sync.source, sync.target)


def decode_sync(key: bytes, value: bytes) -> tuple[TopicPartition, OffsetSync]:
    """What ``encode_sync`` wrote; raises MirrorRecordError."""
    try:
        partition, at = _partition(key, 0)
        _end("offset sync", key, at)
        return partition, OffsetSync(*_SYNC.unpack_from(value))
    except (struct.error, ValueError, IndexError) as error:
        raise MirrorRecordError("offset sync", str(error)) from error


def encode_checkpoint(checkpoint: MirrorCheckpoint) -> tuple[bytes, bytes]:
    """(key, value) of a checkpoint; raises ValueError for a string of more than 32,767 bytes."""
    at = checkpoint.partition
    key = _string(checkpoint.group) + _string(at.topic) + struct.pack(">i", at.partition)
    value = _CHECKPOINT.pack(_VERSION, checkpoint.upstream, checkpoint.downstream) + _string(checkpoint.metadata)
    return key, value


def decode_checkpoint(key: bytes, value: bytes) -> MirrorCheckpoint:
    """What ``encode_checkpoint`` wrote; raises MirrorRecordError."""
    try:
        group, at = _read_string(key, 0)
        partition, at = _partition(key, at)
        _end("checkpoint", key, at)
        version, upstream, downstream = _CHECKPOINT.unpack_from(value)
        if version < 0:
            raise ValueError(f"version {version}")
        metadata, _ = _read_string(value, _CHECKPOINT.size)
        return MirrorCheckpoint(group, partition, upstream, downstream, metadata)
    except (struct.error, ValueError, IndexError) as error:
        raise MirrorRecordError("checkpoint", str(error)) from error


def encode_heartbeat(heartbeat: Heartbeat) -> tuple[bytes, bytes]:
    """(key, value) of a heartbeat."""
    return _string(heartbeat.source) + _string(heartbeat.target), _HEARTBEAT.pack(_VERSION, heartbeat.timestamp)


def decode_heartbeat(key: bytes, value: bytes) -> Heartbeat:
    """What ``encode_heartbeat`` wrote; raises MirrorRecordError."""
    try:
        source, at = _read_string(key, 0)
        target, at = _read_string(key, at)
        _end("heartbeat", key, at)
        version, timestamp = _HEARTBEAT.unpack_from(value)
        if version < 0:
            raise ValueError(f"version {version}")
        return Heartbeat(source, target, timestamp)
    except (struct.error, ValueError, IndexError) as error:
        raise MirrorRecordError("heartbeat", str(error)) from error


def _string(text: str) -> bytes:
    raw = text.encode()
    if len(raw) > _LONGEST:
        raise ValueError(f"a string of {len(raw)} bytes, at most {_LONGEST} can be written")
    return struct.pack(">h", len(raw)) + raw


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise ValueError(f"a string of {length} bytes where {len(data) - at - 2} are left")
    return data[at + 2 : end].decode(), end


def _partition(data: bytes, at: int) -> tuple[TopicPartition, int]:
    topic, at = _read_string(data, at)
    (number,) = struct.unpack_from(">i", data, at)
    return TopicPartition(topic, number), at + 4


def _end(kind: str, key: bytes, at: int) -> None:
    if at != len(key):
        raise MirrorRecordError(kind, f"{len(key) - at} bytes follow its key")
