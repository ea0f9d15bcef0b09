"""One partition of a KafkaSource as it stores it (``KafkaPartitionSplitSerializer``, version 0 in every release)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.position import SymbolicOffset
from anabranch.model.topics import MAX_NAME_LENGTH, TopicPartition

SPLIT_VERSION = 0
NOTHING = -(1 << 63)
"""Stored where there is no stopping offset, or no starting one any more."""

_MARKERS = {-1: SymbolicOffset.LATEST, -2: SymbolicOffset.EARLIEST, -3: SymbolicOffset.COMMITTED}
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, order=True)
class KafkaSplit:
    """``start`` is the next offset to read, ``stop`` the first that is not read; both as they are stored."""

    partition: TopicPartition
    start: int
    stop: int = NOTHING

    def emit(self) -> bytes:
        """The split's bytes."""
        return emit_partition(self.partition) + writer.i64(self.start) + writer.i64(self.stop)

    def moved(self, partition: TopicPartition, start: int, stop: int) -> KafkaSplit:
        """The split elsewhere."""
        return replace(self, partition=partition, start=start, stop=stop)


def offset_of(stored: int) -> int | SymbolicOffset | None:
    """The offset or symbolic offset that a stored number means; None for no offset."""
    return None if stored == NOTHING else _MARKERS.get(stored, stored)


def read_split(reader: ByteReader) -> KafkaSplit:
    """The split that is left in ``reader``, all of it. Raises ``DamagedCheckpointError``."""
    split = KafkaSplit(read_partition(reader), _offset(reader), _offset(reader))
    reader.finish()
    return split


def read_partition(reader: ByteReader) -> TopicPartition:
    """A topic's name and a partition."""
    start = reader.at
    topic = check_topic(reader, reader.utf(), start)
    start = reader.at
    partition = reader.i32()
    if partition < 0:
        reader.fail(f"{partition} is no partition", start)
    return TopicPartition(topic, partition)


def check_topic(reader: ByteReader, topic: str, start: int) -> str:
    """The name, if Kafka could have a topic of it."""
    if len(topic) > MAX_NAME_LENGTH or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        reader.fail("there is no topic's name", start)
    return topic


def emit_partition(partition: TopicPartition) -> bytes:
    """A topic's name and a partition."""
    return writer.utf(partition.topic) + writer.i32(partition.partition)


def _offset(reader: ByteReader) -> int:
    start = reader.at
    value = reader.i64()
    if value < min(_MARKERS) and value != NOTHING:
        reader.fail(f"{value} is no offset", start)
    return value
