"""One Kafka offset of Spark: ``{"topic":{"partition":offset}}``, where an offset is the next record to read.

Sources of other kinds write other JSON. What looks like Kafka's and breaks its rules is neither: it is malformed, for
left alone it would send a query to wrong records in silence.
Source: ``JsonUtils.scala`` and ``KafkaSourceOffset.scala`` of connector/kafka-0-10-sql.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.position import SymbolicOffset
from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.strict_json import Json, parse
from anabranch.model.topics import MAX_NAME_LENGTH, TopicPartition

_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME_LENGTH}}}")
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_LAST_PARTITION = (1 << 31) - 1
_MARKERS = {-1: SymbolicOffset.LATEST, -2: SymbolicOffset.EARLIEST}
_STORED = {marker: number for number, marker in _MARKERS.items()}


@dataclass(frozen=True, slots=True)
class KafkaOffset:
    """Offsets by partition, in the order of the file; partitions of a topic stand together. -1 and -2 are markers."""

    positions: Mapping[TopicPartition, int | SymbolicOffset] = field(hash=False)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in the order of the file."""
        return tuple(dict.fromkeys(partition.topic for partition in self.positions))

    def text(self) -> str:
        """The JSON as Spark writes it, without spaces; topics and partitions in the order of ``positions``."""
        tree: dict[str, dict[str, int]] = {}
        for partition, offset in self.positions.items():
            number = _STORED[offset] if isinstance(offset, SymbolicOffset) else offset
            tree.setdefault(partition.topic, {})[str(partition.partition)] = number
        return json.dumps(tree, separators=(",", ":"))


def parse_kafka_offset(text: str, at: str) -> KafkaOffset | None:
    """The offset in a source's JSON, None where it is of another source; raises MalformedError for what is neither.

    ``{}`` is Kafka's, of a pattern that matched no topic yet.
    """
    if not text.startswith("{"):
        return None
    tree = parse(text, at)
    if not any(_looks_like_partitions(value) for value in tree.values()) and tree:
        return None
    positions: dict[TopicPartition, int | SymbolicOffset] = {}
    for topic, partitions in tree.items():
        if not _TOPIC.fullmatch(topic):
            raise MalformedError(at, f"{topic[:60]!r} is no name of a topic")
        if not isinstance(partitions, dict) or not partitions:
            raise MalformedError(at, f"topic {topic} has no partitions")
        for number, offset in partitions.items():
            positions[TopicPartition(topic, _partition(number, topic, at))] = _offset(offset, topic, number, at)
    return KafkaOffset(positions)


def _looks_like_partitions(value: Json) -> bool:
    """Whether a part of the tree is Kafka's: one number by one partition is enough to be taken at its word."""
    return isinstance(value, dict) and any(
        _PARTITION.fullmatch(key) and isinstance(number, int | float) for key, number in value.items()
    )


def _partition(number: str, topic: str, at: str) -> int:
    if not _PARTITION.fullmatch(number) or int(number) > _LAST_PARTITION:
        raise MalformedError(at, f"topic {topic}: {number[:60]!r} is no partition")
    return int(number)


def _offset(value: Json, topic: str, number: str, at: str) -> int | SymbolicOffset:
    if isinstance(value, bool) or not isinstance(value, int) or value < min(_MARKERS):
        raise MalformedError(at, f"topic {topic}, partition {number}: {str(value)[:60]} is no offset")
    return _MARKERS.get(value, value)
