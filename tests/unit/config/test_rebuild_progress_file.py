"""What a rebuild keeps of itself while it runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuild_progress import SMALLEST_PIECE, keep, kept, part_of, pieces
from anabranch.config.rebuildspec import LaneLogs, RebuildSpec, RecordPart
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.gaps import Unclear, Why
from anabranch.offsets.align.lane import Bounds
from anabranch.offsets.offset_map import MappedRange, OffsetMap

pytestmark = pytest.mark.unit


def logs(number: int, size: int = 10) -> LaneLogs:
    """One partition with so many offsets on each side."""
    key = LaneKey("old-new", TopicId(UUID(int=7)), number)
    here, there = TopicPartition("orders", number), TopicPartition("old.orders", number)
    return LaneLogs(key, here, there, TopicId(UUID(int=8)), Bounds(0, size, 0, size))


def made(one: LaneLogs) -> StoredMap:
    """Its map, with a stretch that is not clear."""
    ranges = OffsetMap.of([MappedRange(0, 0, 5), MappedRange(9, 8, 1)])
    return StoredMap(one.lane, one.source, one.target, ranges, one.target_id, (Unclear(5, 9, 5, 8, Why.SEVERAL),))


SPEC = RebuildSpec(
    "old-new", ClusterContext("old", ("a:1",)), ClusterContext("new", ("b:1",)), (logs(0), logs(1), logs(2))
)


def test_what_is_finished_is_kept_and_taken_again_by_the_same_question(tmp_path: Path) -> None:
    """Whatever came to the logs since: a map is of the logs as they were pinned for it."""
    out = tmp_path / "maps.json"
    assert kept(out, SPEC) == {}
    keep(out, SPEC, [made(SPEC.lanes[0]), made(SPEC.lanes[2])], 5)
    later = replace(SPEC, lanes=tuple(replace(one, bounds=Bounds(0, 20, 0, 19)) for one in SPEC.lanes))
    assert kept(out, later) == {one.lane: made(one) for one in (SPEC.lanes[0], SPEC.lanes[2])}
    assert not out.exists()


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, link="another"),
        replace(SPEC, target=ClusterContext("third", ("b:1",))),
        replace(SPEC, ignore=frozenset({RecordPart.HEADERS})),
        replace(SPEC, lanes=(replace(SPEC.lanes[0], target_id=TopicId(UUID(int=9))),)),
        replace(SPEC, lanes=(replace(SPEC.lanes[0], target=TopicPartition("copy", 0)),)),
    ],
    ids=["link", "cluster", "what is compared", "made again", "another copy"],
)
def test_another_question_takes_nothing(tmp_path: Path, other: RebuildSpec) -> None:
    """A map that answers something else is none."""
    keep(tmp_path / "maps.json", SPEC, [made(one) for one in SPEC.lanes], 5)
    assert kept(tmp_path / "maps.json", other) == {}


@pytest.mark.parametrize("change", [lambda text: text[:-9], lambda text: json.dumps({"version": 1, "maps": {}})])
def test_a_damaged_file_keeps_nothing(tmp_path: Path, change: object) -> None:
    """It is made again, and not refused."""
    keep(tmp_path / "maps.json", SPEC, [made(one) for one in SPEC.lanes], 5)
    path = part_of(tmp_path / "maps.json")
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    assert kept(tmp_path / "maps.json", SPEC) == {}


def test_pieces_are_whole_partitions_and_small_ones_go_together() -> None:
    """In their order, and larger where Spark has more slots."""
    large = SMALLEST_PIECE
    lanes = [logs(0, 10), logs(1, 10), logs(2, large), logs(3, large), logs(4, 10)]
    assert [[one.source.partition for one in piece] for piece in pieces(lanes, 1)] == [[0, 1, 2], [3], [4]]
    assert [[one.source.partition for one in piece] for piece in pieces(lanes, 4)] == [[0, 1, 2, 3], [4]]
    assert pieces([], 2) == []
