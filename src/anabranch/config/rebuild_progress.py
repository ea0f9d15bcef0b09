"""What a rebuild has finished so far, beside the file that it will write: it goes on from there when it is run again.

A map is of one partition and of its pinned logs alone, so those that are finished stay right whatever becomes of the
others. They are taken again only by the same question: link, clusters, topics by their ids, and what is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from anabranch.config import maps_file
from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import LaneLogs, RebuildSpec, RecordPart
from anabranch.config.yaml_file import FileShape, check, read, replace_file
from anabranch.errors import ConfigError
from anabranch.model.lane import LaneKey

#: A piece of work is whole partitions with at least so many offsets of both sides for each of Spark's slots: a piece
#: costs some seconds of its own, and what is under way when a rebuild is interrupted is lost.
SMALLEST_PIECE = 100_000


class PartShape(FileShape):
    """The finished maps, and what of the records was compared."""

    version: Literal[1] = 1
    ignore: list[RecordPart] = Field(default=[])
    maps: dict[str, Any]


def part_of(out: Path) -> Path:
    """The file beside a maps file."""
    return out.with_name(f"{out.name}.part")


def kept(out: Path, spec: RebuildSpec) -> dict[LaneKey, StoredMap]:
    """The finished maps that answer this question, by lane; none where no file is there, or one that is damaged."""
    path = part_of(out)
    if not path.exists():
        return {}
    try:
        shape = check(PartShape, read(path), str(path))
        maps = maps_file.maps_of(shape.maps, str(path))
    except ConfigError:
        return {}
    asked = (spec.link, spec.source.name, spec.target.name)
    if tuple(shape.maps.get(name) for name in ("link", "source", "target")) != asked:
        return {}
    if frozenset(shape.ignore) != spec.ignore:
        return {}
    lanes = {lane.lane: (lane.source, lane.target, lane.target_id) for lane in spec.lanes}
    return {one.lane: one for one in maps if lanes.get(one.lane) == (one.source, one.target, one.target_id)}


def keep(out: Path, spec: RebuildSpec, maps: Sequence[StoredMap], made_at_ms: int) -> None:
    """Write what is finished, whole or not at all; raises ``UnreadableFileError``."""
    value = {
        "version": 1,
        "ignore": sorted(spec.ignore),
        "maps": maps_file.rebuilt_value(spec.link, spec.source.name, spec.target.name, maps, made_at_ms),
    }
    replace_file(part_of(out), (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8"))


def pieces(lanes: Sequence[LaneLogs], slots: int) -> list[tuple[LaneLogs, ...]]:
    """The lanes in pieces, in their order; small ones are one piece together."""
    found: list[list[LaneLogs]] = []
    size = 0
    for lane in lanes:
        if not found or size >= SMALLEST_PIECE * slots:
            found.append([])
            size = 0
        found[-1].append(lane)
        bounds = lane.bounds
        size += bounds.source_end - bounds.source_start + bounds.target_end - bounds.target_start
    return [tuple(one) for one in found]
