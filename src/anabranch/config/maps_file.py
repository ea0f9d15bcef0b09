"""The maps file: every lane's map of a link, to translate without its clusters (docs/reference/offsets-file.md)."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from anabranch.config.yaml_file import FileShape, check, read, replace_file
from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.model.lane import LaneKey
from anabranch.model.positions import LaneRanges
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets import codec
from anabranch.offsets.align.gaps import Unclear, Why
from anabranch.offsets.offset_map import OffsetMap

_COLUMNS = (
    "source_topic",
    "source_partition",
    "target_topic",
    "target_partition",
    "source_offset",
    "target_offset",
    "length",
)


class PartitionShape(FileShape):
    """One partition."""

    topic: str
    partition: int = Field(ge=0)


class StretchShape(FileShape):
    """Offsets of both sides that belong together, one does not know how: no position there is exact."""

    source: list[int] = Field(
        min_length=2, max_length=2, description="Source offsets: the first, and the one after the last."
    )
    target: list[int] = Field(
        min_length=2, max_length=2, description="Target offsets: the first, and the one after the last."
    )
    why: Literal["several", "order", "large"] = Field(
        description="several, order or large: see docs/reference/offsets-rebuild.md."
    )


class MappedLaneShape(FileShape):
    """One lane and its map."""

    lane: str = Field(description="The lane's key: link/topic-id/partition/generation.")
    source: PartitionShape
    target: PartitionShape
    mode: Literal["identity", "mapped"]
    updated_at_ms: int = Field(description="When the lane's owner last persisted where it stands.")
    runs: str = Field(description="Stored mapped ranges (docs/reference/offset-maps.md) in base64.")
    target_id: str | None = Field(
        default=None, description="The target topic's id, in a map that `offsets rebuild` has made."
    )
    unclear: list[StretchShape] = Field(
        default=[], description="Offset spans without exact positions, in a map that `offsets rebuild` has made."
    )


class MapsShape(FileShape):
    """The maps of a link at one moment."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    link: str = Field(description="The link's id.")
    source: str = Field(description="Context of the source.")
    target: str = Field(description="Context of the target.")
    lanes: list[MappedLaneShape]


@dataclass(frozen=True, slots=True)
class StoredMap:
    """One lane's map as it was exported, or made from contents (``target_id`` is set, ``unclear`` may be)."""

    lane: LaneKey
    source: TopicPartition
    target: TopicPartition
    ranges: OffsetMap
    target_id: TopicId | None = None
    unclear: tuple[Unclear, ...] = ()


def load(path: Path) -> tuple[StoredMap, ...]:
    """The maps of a file; raises ``ConfigError`` naming file and field."""
    return maps_of(read(path), str(path))


def maps_of(value: Mapping[str, Any], place: str) -> tuple[StoredMap, ...]:
    """The maps of a file's value; raises ``ConfigError`` naming ``place`` and field."""
    shape = check(MapsShape, value, place)
    return tuple(_map(lane, place, f"lanes.{at}") for at, lane in enumerate(shape.lanes))


def contexts_of(path: Path) -> tuple[str, str]:
    """The contexts of source and target that a file says its maps are of; raises ``ConfigError``."""
    shape = check(MapsShape, read(path), str(path))
    return shape.source, shape.target


def save(
    path: Path, link: str, source: str, target: str, stored: Mapping[LaneKey, bytes], lanes: Sequence[LaneRanges]
) -> None:
    """Write JSON whole or not at all, over a file that is there; raises ``UnreadableFileError``."""
    value = maps_value(link, source, target, stored, lanes)
    replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def maps_value(
    link: str, source: str, target: str, stored: Mapping[LaneKey, bytes], lanes: Sequence[LaneRanges]
) -> dict[str, Any]:
    """Maps of a link, as the file has them."""
    return {
        "version": 1,
        "link": link,
        "source": source,
        "target": target,
        "lanes": [
            {
                "lane": str(lane.lane),
                "source": {"topic": lane.source.topic, "partition": lane.source.partition},
                "target": {"topic": lane.target.topic, "partition": lane.target.partition},
                "mode": lane.mode.value,
                "updated_at_ms": lane.updated_at_ms,
                "runs": base64.b64encode(stored[lane.lane]).decode("ascii"),
            }
            for lane in lanes
        ],
    }


def save_rebuilt(path: Path, link: str, source: str, target: str, maps: Sequence[StoredMap], made_at_ms: int) -> None:
    """Write maps that were made from contents, whole or not at all; raises ``UnreadableFileError``."""
    value = rebuilt_value(link, source, target, maps, made_at_ms)
    replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def rebuilt_value(link: str, source: str, target: str, maps: Sequence[StoredMap], made_at_ms: int) -> dict[str, Any]:
    """Maps that were made from contents, as the file has them."""
    lanes = []
    for one in maps:
        lane = {
            "lane": str(one.lane),
            "source": {"topic": one.source.topic, "partition": one.source.partition},
            "target": {"topic": one.target.topic, "partition": one.target.partition},
            "mode": "mapped",
            "updated_at_ms": made_at_ms,
            "runs": base64.b64encode(codec.encode(one.ranges)).decode("ascii"),
            "unclear": [
                {
                    "source": [stretch.source_from, stretch.source_to],
                    "target": [stretch.target_from, stretch.target_to],
                    "why": stretch.why.value,
                }
                for stretch in one.unclear
            ],
        }
        if one.target_id is not None:
            lane["target_id"] = str(one.target_id)
        lanes.append(lane)
    return {"version": 1, "link": link, "source": source, "target": target, "lanes": lanes}


def save_csv(path: Path, lanes: Sequence[LaneRanges]) -> None:
    """Write ``csv_text`` whole or not at all; raises ``UnreadableFileError``."""
    replace_file(path, csv_text(lanes).encode("utf-8"))


def csv_text(lanes: Sequence[LaneRanges]) -> str:
    """A line for each run; the ends of the maps are not in it."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(_COLUMNS)
    for lane in lanes:
        places = (lane.source.topic, lane.source.partition, lane.target.topic, lane.target.partition)
        lines.writerows((*places, run.source, run.target, run.length) for run in lane.ranges)
    return text.getvalue()


def _map(lane: MappedLaneShape, place: str, at: str) -> StoredMap:
    try:
        runs = codec.decode(base64.b64decode(lane.runs, validate=True))
    except binascii.Error:
        raise InvalidFieldError(place, f"{at}.runs", "not base64") from None
    except AnabranchError as error:
        raise InvalidFieldError(place, f"{at}.runs", error.message, error.hint) from error
    source, target = (TopicPartition(one.topic, one.partition) for one in (lane.source, lane.target))
    unclear = tuple(
        Unclear(one.source[0], one.source[1], one.target[0], one.target[1], Why(one.why)) for one in lane.unclear
    )
    topic = None if lane.target_id is None else TopicId.parse(lane.target_id)
    return StoredMap(LaneKey.parse(lane.lane), source, target, runs, topic, unclear)
