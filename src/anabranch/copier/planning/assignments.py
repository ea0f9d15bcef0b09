"""A lane's assignment as the text that the Spark planner puts into a row and the task reads from it."""

from __future__ import annotations

from typing import Any

from anabranch.model.lane import LaneAssignment, LaneKey
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.state.codecs.fields import dump, load, range_fields, read_range

VERSION = 2
_FIRST = 1  # an assignment without ``skip``


def encode(assignment: LaneAssignment) -> str:
    """The row's text: of the first version, which older readers know, where there is nothing to skip."""
    fields: dict[str, Any] = {
        "lane": str(assignment.lane),
        "source": assignment.source.topic,
        "target": assignment.target.topic,
        "target_partition": assignment.target.partition,
        "target_id": str(assignment.target_id),
        "start": str(assignment.start),
        "mode": assignment.mode.value,
    }
    if assignment.skip is None:
        return dump(_FIRST, fields).decode("utf-8")
    return dump(VERSION, {**fields, "skip": range_fields(assignment.skip)}).decode("utf-8")


def decode(text: str) -> LaneAssignment:
    """The assignment; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with load("lane assignment", VERSION, text.encode("utf-8")) as fields:
        lane = fields.parsed("lane", LaneKey.parse)
        return LaneAssignment(
            lane=lane,
            source=TopicPartition(fields.text("source"), lane.partition),
            target=TopicPartition(fields.text("target"), fields.integer("target_partition")),
            target_id=fields.parsed("target_id", TopicId.parse),
            start=fields.parsed("start", LaneStart.parse),
            mode=fields.enum("mode", ModePolicy),
            skip=read_range(fields, "skip") if fields.has("skip") else None,
        )
