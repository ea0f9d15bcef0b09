"""Which checkpoint is a query's own, which offsets it has reached, and what is kept beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.storage.local import LocalFiles
from anabranch.storage.stream_checkpoints import (
    Beginning,
    NotedScript,
    batches,
    begin,
    beginning_of,
    directory_of,
    note_script,
    noted,
    noted_as,
    noted_version,
    numbered,
    own,
    reached,
)
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind, ArtifactPin
from anabranch.streams.state.results import NoPositionError, OpenBatchError

pytestmark = pytest.mark.unit


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """The checkpoints of a stream, still without any."""
    return LocalFiles(str(tmp_path), str(tmp_path))


def batch(files: LocalFiles, number: int, *sources: str, committed: bool = True) -> None:
    """A micro-batch of query q that ends there."""
    files.put(f"q/offsets/{number}", "\n".join(("v1", "{}", *sources)).encode())
    if committed:
        files.put(f"q/commits/{number}", b"v1\n{}")


def test_the_highest_number_is_a_querys_own_checkpoint(files: LocalFiles) -> None:
    """By number and not by name; those of other queries are none of its own."""
    assert own(files, "q") == ("q", 0)
    for name in ("q", "q@2", "q@10", "q@9", "q-2@40", "other@50", "q@x"):
        files.put(f"{name}/metadata", b"{}")
    assert own(files, "q") == ("q@10", 10)
    assert own(files, "another") == ("another", 0)


@pytest.mark.parametrize("query", ["q", "a query", "a/b", "a@2", "ü@@", "%40"])
@pytest.mark.parametrize("number", [0, 1, 12])
def test_a_directory_tells_its_query_and_its_number(query: str, number: int) -> None:
    """Whatever a query is called."""
    first, found = numbered(directory_of(query, number))
    assert (noted_as(first), found) == (query, number)
    assert "/" not in directory_of(query, number)


@pytest.mark.parametrize("name", ["q@", "q@x", "q@²", "q", "7"])
def test_a_directory_without_a_number_is_a_first_checkpoint(name: str) -> None:
    """As it stands."""
    assert numbered(name) == (name, 0)


def test_batches_are_in_the_order_of_their_numbers(files: LocalFiles) -> None:
    """What else is in a log is no batch, as Hadoop's sums and files that are on their way."""
    for name in ("0", "10", "9", ".9.crc", "9.compact", "11.tmp", "²"):
        files.put(f"q/offsets/{name}", b"")
    assert batches(files, "q", "offsets") == [0, 9, 10]
    assert batches(files, "q", "commits") == []


def test_a_query_without_a_committed_batch_has_reached_nothing(files: LocalFiles) -> None:
    """It begins where its tables say."""
    assert reached(files, "q", "pv", "q") == {}


def test_what_the_last_committed_batch_ends_with_is_reached(files: LocalFiles) -> None:
    """Of each topic; a source that saw nothing yet has no line of its own."""
    batch(files, 8, '{"t":{"0":5}}', "-")
    batch(files, 9, '{"t":{"0":7,"1":8}}', "-", '{"u":{"0":1}}')
    assert reached(files, "q", "pv", "q") == {"t": {"0": 7, "1": 8}, "u": {"0": 1}}


def test_a_batch_that_was_begun_and_not_ended_leaves_no_position(files: LocalFiles) -> None:
    """Nobody knows whether its rows were written: also the very first one, and whatever was committed before."""
    batch(files, 0, '{"t":{"0":5}}', committed=False)
    with pytest.raises(OpenBatchError) as first:
        reached(files, "q", "pv", "q")
    batch(files, 0, '{"t":{"0":5}}')
    batch(files, 1, '{"t":{"0":7}}', committed=False)
    with pytest.raises(OpenBatchError) as second:
        reached(files, "q", "pv", "q")
    assert [(one.value.stream, one.value.query, one.value.batch) for one in (first, second)] == [
        ("pv", "q", 0),
        ("pv", "q", 1),
    ]


def test_a_topic_that_was_read_twice_has_a_position_where_both_are_as_far(files: LocalFiles) -> None:
    """Else no one position is right for both."""
    batch(files, 0, '{"t":{"0":5}}', '{"t":{"0":5}}')
    assert reached(files, "q", "pv", "q") == {"t": {"0": 5}}
    batch(files, 1, '{"t":{"0":6}}', '{"t":{"0":5}}')
    with pytest.raises(NoPositionError) as refused:
        reached(files, "q", "pv", "q")
    assert (refused.value.query, refused.value.source) == ("q", 2)


@pytest.mark.parametrize(
    "line", ["7", '"words"', "[1]", '{"logOffset":3}', '{"t":{"a":1}}', '{"t":{"0":"x"}}', "{", ""]
)
def test_a_source_that_is_not_kafka_has_no_position(files: LocalFiles, line: str) -> None:
    """It is named by its number."""
    batch(files, 0, '{"t":{"0":5}}', line, '{"u":{"0":5}}')
    with pytest.raises(NoPositionError) as refused:
        reached(files, "q", "pv", "q")
    assert (refused.value.query, refused.value.source) == ("q", 2)


@pytest.mark.parametrize(
    "beginning", [Beginning(), Beginning("latest"), Beginning(offsets={"t": {"0": 7, "11": 8}, "u": {"0": 0}})]
)
def test_what_a_later_checkpoint_begins_with_is_kept(files: LocalFiles, beginning: Beginning) -> None:
    """In its directory, and for no other one."""
    begin(files, "q@1", beginning)
    assert beginning_of(files, "q@1") == beginning
    assert beginning_of(files, "q") is None
    assert [entry.name for entry in files.list("q@1")] == ["begins.json"]


def test_offsets_that_were_reached_are_a_start(files: LocalFiles) -> None:
    """Of each partition by its number; a start in words has none."""
    offsets = {TopicPartition("t", 0): 7, TopicPartition("t", 11): 8, TopicPartition("u", 0): 0}
    beginning = Beginning(offsets={"t": {"0": 7, "11": 8}, "u": {"0": 0}})
    assert beginning.position() == StartPosition(StartKind.OFFSETS, offsets=offsets)
    assert Beginning("latest").position() is None
    assert [one.is_empty for one in (Beginning(), Beginning("latest"), beginning)] == [True, False, False]


def test_the_script_that_ran_is_noted_with_what_its_functions_come_from(files: LocalFiles) -> None:
    """The last one; before any there is none."""
    assert noted(files) is None
    assert noted_version(files) == (0, "")
    pin = ArtifactPin("geo", 3, ArtifactKind.WHEEL, ArtifactFile("geo.whl", "ab" * 32, 7))
    note_script(files, 4, "SELECT 1", [pin])
    assert noted(files) == NotedScript("SELECT 1", (pin,))
    note_script(files, 5, "SELECT 2")
    assert noted_version(files) == (5, "SELECT 2")
    assert noted(files) == NotedScript("SELECT 2", ())


def test_a_note_from_before_there_were_artifacts_is_read(files: LocalFiles) -> None:
    """It had none."""
    files.put("script.json", json.dumps({"version": 2, "script": "SELECT 3"}).encode())
    assert noted(files) == NotedScript("SELECT 3", ())
    assert noted_version(files) == (2, "SELECT 3")
