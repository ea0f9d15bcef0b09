"""Offsets files and maps files: what is written reads back, and what is wrong is named with its place."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config import maps_file, offsets_file
from anabranch.config.offsets_file import start_of
from anabranch.config.yaml_file import UnreadableFileError
from anabranch.errors import ConfigError
from anabranch.model.lane import LaneKey, LaneMode, LaneState
from anabranch.model.positions import LaneRanges, StoredRange
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets import codec
from anabranch.offsets.offset_map import MappedRange, OffsetMap

pytestmark = pytest.mark.unit

PARTITIONS = st.builds(TopicPartition, st.from_regex(r"[a-z.0-9-]{1,8}", fullmatch=True), st.integers(0, 2**31 - 1))
MAP = OffsetMap.of([MappedRange(100, 7, 4), MappedRange(105, 12, 2)], 98, 7).advance(110, 16)
LANE = LaneRanges(
    LaneKey("old-new", TopicId.ZERO, 3),
    TopicPartition("orders", 3),
    TopicPartition("old.orders", 3),
    LaneMode.MAPPED,
    LaneState.FOLLOWING,
    1_700_000_000_000,
    MAP.source_start,
    MAP.target_start,
    MAP.source_end,
    MAP.target_end,
    MAP.records,
    tuple(StoredRange(run.source, run.target, run.length) for run in MAP),
)


@given(offsets=st.dictionaries(PARTITIONS, st.integers(0, 2**63 - 1), min_size=1, max_size=9))
def test_offsets_read_back_as_they_were(offsets: dict[TopicPartition, int], tmp_path_factory: object) -> None:
    """Topics that look like numbers too, and all of int64; a start position takes the same file."""
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    path = tmp_path_factory.mktemp("offsets") / "offsets.json"
    offsets_file.save(path, offsets, "new")
    assert offsets_file.load(path) == offsets
    start = start_of(f"@{path}")
    assert (start.kind, start.offsets) == (StartKind.OFFSETS, offsets)


def test_people_may_write_yaml(tmp_path: Path) -> None:
    """With partitions as numbers, as in a link file."""
    path = tmp_path / "offsets.yaml"
    path.write_text("offsets:\n  orders: {0: 17, 1: 20}\n")
    assert offsets_file.load(path) == {TopicPartition("orders", 0): 17, TopicPartition("orders", 1): 20}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("offsets: {}", "no offset is given"),
        ("offsets: {orders: {x: 1}}", "offsets.orders.x: "),
        ("offsets: {orders: {0: -1}}", "offsets.orders.0"),
        ("offsets: {orders: {0: many}}", "offsets.orders.0"),
        ("offsets: {orders: {0: 1, '0': 2}}", "it is given twice"),
        ("offsets: {orders: {0: 1, 0: 2}}", "line 1: '0' is given twice"),
        ('{"offsets": {"orders": {"0": 1}, "orders": {"1": 2}}}', "'orders' is given twice"),
        ("offsets: {orders: {-1: 1}}", "negative"),
        ("version: 2\noffsets: {orders: {0: 1}}", "version"),
        ("offsets:\n  orders: {0: 1\nx", "line 3"),
        ("offsets: {orders: {0: 1}}\ngroup: x", "group: unknown field"),
    ],
)
def test_a_wrong_file_is_named_with_the_place(tmp_path: Path, text: str, problem: str) -> None:
    """The line where it is no YAML, else the field."""
    path = tmp_path / "offsets.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem) as caught:
        offsets_file.load(path)
    assert str(path) in caught.value.message


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """What cannot be written leaves what was there, and says why."""
    offsets_file.save(tmp_path / "o.json", {TopicPartition("orders", 0): 1}, "new")
    with pytest.raises(UnreadableFileError, match="cannot write it"):
        offsets_file.save(tmp_path / "nowhere" / "o.json", {TopicPartition("orders", 0): 1}, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["o.json"]


def test_maps_read_back_as_they_were(tmp_path: Path) -> None:
    """Runs and ends, in the stored form that every later version reads."""
    path = tmp_path / "maps.json"
    maps_file.save(path, "old-new", "old", "new", {LANE.lane: codec.encode(MAP)}, [LANE])
    (found,) = maps_file.load(path)
    assert (found.lane, found.source, found.target, found.ranges) == (LANE.lane, LANE.source, LANE.target, MAP)


@pytest.mark.parametrize(
    ("ranges", "problem"), [("%", "not base64"), ("qwEA", "corrupt"), ("qwlAAAAAAAAAAA==", "version")]
)
def test_damaged_maps_are_named(tmp_path: Path, ranges: str, problem: str) -> None:
    """With the lane's place in the file."""
    path = tmp_path / "maps.json"
    maps_file.save(path, "old-new", "old", "new", {LANE.lane: b""}, [LANE])
    value = json.loads(path.read_text())
    value["lanes"][0]["runs"] = ranges
    path.write_text(json.dumps(value))
    with pytest.raises(ConfigError, match=problem) as caught:
        maps_file.load(path)
    assert "lanes.0.runs" in caught.value.message


def test_a_spreadsheet_has_a_line_for_each_run(tmp_path: Path) -> None:
    """Under a line of names."""
    maps_file.save_csv(tmp_path / "maps.csv", [LANE])
    with (tmp_path / "maps.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["source_topic"], line["target_offset"], line["length"]) for line in lines] == [
        ("orders", "7", "4"),
        ("orders", "12", "2"),
    ]
