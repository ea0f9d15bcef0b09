"""What the Spark job that makes maps from contents is told, as versioned JSON: pinned logs, and no secret."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from anabranch.config.jobspec import Context, JobFormat
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.lane import Bounds

VERSION = 1
JOB = "rebuild"


class RecordPart(StrEnum):
    """A part of records that may be left out of the comparison, where the other tool has changed it."""

    TIMESTAMPS = "timestamps"
    HEADERS = "headers"


def _partition(pair: list[Any]) -> TopicPartition:
    topic, partition = pair
    return TopicPartition(str(topic), int(partition))


Partition = Annotated[
    TopicPartition, PlainValidator(_partition), PlainSerializer(lambda one: [one.topic, one.partition])
]
"""A topic and a partition, as a list of two."""


@dataclass(frozen=True, slots=True)
class LaneLogs:
    """One partition on both sides, pinned; ``lane`` is the key that the map is for."""

    lane: Annotated[LaneKey, PlainValidator(LaneKey.parse), PlainSerializer(str)]
    source: Partition
    target: Partition
    target_id: Annotated[TopicId, PlainValidator(TopicId.parse), PlainSerializer(str)]
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class RebuildSpec:
    """Make the maps of some lanes once; ``link`` is the id that the maps are for.

    ``ignore``: parts of records that do not count.
    """

    link: str
    source: Context
    target: Context
    lanes: tuple[LaneLogs, ...]
    ignore: Annotated[frozenset[RecordPart], PlainSerializer(sorted)] = frozenset()

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> RebuildSpec:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


_FORMAT = JobFormat(JOB, VERSION, TypeAdapter(RebuildSpec))
