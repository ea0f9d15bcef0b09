"""What the Spark job that makes maps from contents is told, as versioned JSON: pinned logs, and no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anabranch.config.jobspec import context_of, entry_of, read_spec
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.lane import Bounds

VERSION = 1
JOB = "rebuild"


class Part(StrEnum):
    """A part of records that may be left out of the comparison, where the other tool has changed it."""

    TIMESTAMPS = "timestamps"
    HEADERS = "headers"


@dataclass(frozen=True, slots=True)
class LaneLogs:
    """One partition on both sides, pinned; ``lane`` is the key that the map is for."""

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    target_id: TopicId
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class RebuildSpec:
    """Make the maps of some lanes once; ``link`` is the id that the maps are for.

    ``ignore``: parts of records that do not count.
    """

    link: str
    source: ClusterContext
    target: ClusterContext
    lanes: tuple[LaneLogs, ...]
    ignore: frozenset[Part] = frozenset()

    def to_json(self) -> str:
        """The versioned text."""
        return json.dumps(
            {
                "v": VERSION,
                "job": JOB,
                "link": self.link,
                "source": entry_of(self.source),
                "target": entry_of(self.target),
                "lanes": [
                    {
                        "lane": str(one.lane),
                        "source": [one.source.topic, one.source.partition],
                        "target": [one.target.topic, one.target.partition],
                        "target_id": str(one.target_id),
                        "bounds": list(one.bounds),
                    }
                    for one in self.lanes
                ],
                "ignore": sorted(self.ignore),
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> RebuildSpec:
        """Read the text; raises JobSpecError."""
        return read_spec(
            text,
            JOB,
            VERSION,
            lambda fields: cls(
                link=str(fields["link"]),
                source=context_of(fields["source"]),
                target=context_of(fields["target"]),
                lanes=tuple(_lane(one) for one in fields["lanes"]),
                ignore=frozenset(Part(one) for one in fields["ignore"]),
            ),
        )


def _lane(fields: Mapping[str, Any]) -> LaneLogs:
    (topic, partition), (copy, there) = fields["source"], fields["target"]
    return LaneLogs(
        LaneKey.parse(fields["lane"]),
        TopicPartition(str(topic), int(partition)),
        TopicPartition(str(copy), int(there)),
        TopicId.parse(fields["target_id"]),
        Bounds(*(int(one) for one in fields["bounds"])),
    )
