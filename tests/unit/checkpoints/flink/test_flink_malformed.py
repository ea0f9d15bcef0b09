"""Savepoints whose parts do not fit together: each is refused by its place, and none is read as another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from flink_samples import kafka_operator, metadata, split

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import old_consumer, writer
from anabranch.checkpoints.flink.dynamic import (
    DynamicCluster,
    DynamicElement,
    DynamicState,
    Stream,
    read_dynamic_element,
    read_dynamic_state,
)
from anabranch.checkpoints.flink.elements import wrap
from anabranch.checkpoints.flink.enumerator import Assignment, EnumeratorState
from anabranch.checkpoints.flink.handles import File, Inline
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata, Subtask, read_metadata
from anabranch.checkpoints.flink.old_consumer import OldElement, read_old_element
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import NOTHING
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

SOURCE = kafka_operator("src", [[split("orders", 0, 100)]])


def reader(data: bytes) -> ByteReader:
    """Of a file's bytes."""
    return ByteReader(data, "/save", "_metadata")


def operator(change: Callable[[Operator], Operator]) -> Callable[[SavepointMetadata], SavepointMetadata]:
    """A file whose one operator is another."""
    return lambda whole: replace(whole, operators=(change(whole.operators[0]),))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: replace(one, checkpoint_id=-1), "the checkpoint id is -1"),
        (lambda one: replace(one, masters=(b"",)), "a master state is empty"),
        (lambda one: replace(one, operators=(SOURCE, SOURCE)), "an operator id is there twice"),
        (operator(lambda one: replace(one, parallelism=-1)), "the parallelism is -1"),
        (
            operator(lambda one: replace(one, coordinator=cast(Any, File("/a", 5)))),
            "a coordinator's state is not inline",
        ),
        (operator(lambda one: replace(one, subtasks=None)), "a finished operator has a coordinator's state"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(
    change: Callable[[SavepointMetadata], SavepointMetadata], what: str
) -> None:
    """What is wrong with it is said; the file as it was is read."""
    good = metadata(SOURCE)
    assert read_metadata(good.emit(), "/save") == good
    with pytest.raises(DamagedCheckpointError, match=what):
        read_metadata(change(good).emit(), "/save")


def test_bytes_that_tell_neither_presence_nor_absence_are_refused() -> None:
    """Nor is a null taken for state, or a master's state that does not begin as one."""
    one = replace(SOURCE, coordinator=None, subtasks=(Subtask(0),))
    good = metadata(one, version=3).emit()
    at = good.rindex(one.id) + 16 + 8 + 1 + 4 + 4  # id, both parallelisms, no coordinator, count, index
    assert good[at : at + 4] == writer.i32(0)
    for told, what in (
        (writer.i32(2), "2 tells neither presence nor absence"),
        (writer.i32(1) + writer.u8(0), "a null handle where operator state should be"),
    ):
        with pytest.raises(DamagedCheckpointError, match=what):
            read_metadata(good[:at] + told + good[at + 4 :], "/save")
    mastered = replace(metadata(SOURCE), masters=(b"state",))
    assert read_metadata(mastered.emit(), "/save") == mastered
    broken = mastered.emit().replace(writer.blob(b"state"), b"\0" + writer.blob(b"state")[1:], 1)
    start = broken.index(b"state") - 8
    with pytest.raises(DamagedCheckpointError, match="a master state does not begin as one"):
        read_metadata(broken[:start] + bytes(4) + broken[start + 4 :], "/save")


def test_operators_and_subtasks_that_have_finished_are_read_as_that() -> None:
    """By their numbers, with nothing behind them."""
    finished = replace(SOURCE, coordinator=None, subtasks=None)
    half = replace(SOURCE, subtasks=(Subtask(0, finished=True), *(SOURCE.subtasks or ()), Subtask(5, finished=True)))
    for one in (finished, half):
        whole = metadata(one)
        assert read_metadata(whole.emit(), "/save") == whole


# -- elements of the old consumer ----------------------------------------------------------------------

AT = TopicPartition("orders", 3)


@pytest.mark.parametrize("start", [0, 1, 10**15, NOTHING, -1, -2, -3])
@pytest.mark.parametrize("class_id", [2, 0x57, 300])
def test_an_old_element_is_read_as_it_was_written(start: int, class_id: int) -> None:
    """Its sentinels are markers, and its offset is the record after the stored one."""
    element = OldElement(class_id, split("orders", 3, start))
    assert read_old_element(reader(element.emit())) == element


def test_an_old_element_stores_the_last_record_that_was_read() -> None:
    """One less than where it goes on."""
    assert OldElement(2, split("orders", 3, 8)).emit().endswith((7).to_bytes(8))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda data: b"\1" + data[1:], "no partition of a registered class"),
        (lambda data: data[:1] + b"\0" + data[2:], "no partition of a registered class"),
        (lambda data: data[:-8] + (-2).to_bytes(8, signed=True), "-2 is no offset"),
        (lambda data: data.replace(b"order", b"ordet"), "hash is another one"),
        (lambda data: data + b"\0", None),
        (lambda data: data[:-1], None),
    ],
)
def test_an_old_element_that_no_consumer_writes_is_refused(change: Callable[[bytes], bytes], what: str | None) -> None:
    """By the hash that it has of its own, too."""
    with pytest.raises(DamagedCheckpointError, match=what):
        read_old_element(reader(change(OldElement(2, split("orders", 3, 8)).emit())))


def test_a_partition_below_nothing_is_refused() -> None:
    """Its hash may fit all the same."""
    at = TopicPartition("orders", -1)
    element = OldElement(2, replace(split("orders", 0, 8), partition=at))
    with pytest.raises(DamagedCheckpointError, match="no partition and topic"):
        read_old_element(reader(element.emit()))
    assert old_consumer._hash_code(at) != old_consumer._hash_code(AT)


# -- the state of a dynamic source ---------------------------------------------------------------------


def state(version: int, **enumerators: EnumeratorState) -> DynamicState:
    """Of two clusters in one stream."""
    initializers = (None, b"java") if version == 2 else ()
    clusters = tuple(DynamicCluster(name, ("t", "u"), f"{name}:1", initializers) for name in ("east", "west"))
    return DynamicState(version, (Stream("s", clusters),), 1, enumerators)


ONE = EnumeratorState(1, (Assignment(TopicPartition("t", 0)),))


@pytest.mark.parametrize("version", [1, 2])
def test_a_dynamic_state_is_read_as_it_was_written(version: int) -> None:
    """Of each cluster its own, in their order; and to the last byte."""
    made = state(version, west=ONE, east=EnumeratorState(1, ()))
    assert read_dynamic_state(reader(made.emit()), version) == made
    assert list(read_dynamic_state(reader(made.emit()), version).enumerators) == ["west", "east"]
    with pytest.raises(DamagedCheckpointError):
        read_dynamic_state(reader(made.emit() + b"\0"), version)


def test_a_cluster_that_is_there_twice_is_refused() -> None:
    """Nobody knows which of both is right."""
    data = state(1, west=ONE, eest=ONE).emit().replace(writer.utf("eest"), writer.utf("west"))
    with pytest.raises(DamagedCheckpointError, match="a cluster is there twice"):
        read_dynamic_state(reader(data), 1)


@pytest.mark.parametrize("version", [0, 3])
def test_a_dynamic_state_of_another_version_is_not_guessed(version: int) -> None:
    """It is named."""
    with pytest.raises(UnknownVersionError, match=f"dynamic enumerator version {version}"):
        read_dynamic_state(reader(state(1).emit()), version)


def test_a_dynamic_element_names_its_cluster() -> None:
    """One of another version, or of no cluster, is not guessed."""
    inner = split("t", 0, 5).emit()
    made = DynamicElement("east", split("t", 0, 5))
    assert read_dynamic_element(reader(made.emit())) == made
    for version, data, what in (
        (2, writer.utf("east") + writer.i32(0) + inner, "dynamic split version 2"),
        (1, writer.utf("east") + writer.i32(1) + inner, "split version 1"),
        (1, writer.utf("") + writer.i32(0) + inner, "split version 0"),
    ):
        with pytest.raises(UnknownVersionError, match=what):
            read_dynamic_element(reader(wrap(version, data)))


def test_a_coordinator_of_an_operator_is_kept_as_it_is() -> None:
    """Inline, with its name."""
    one = replace(SOURCE, coordinator=Inline("name", b"state"))
    assert read_metadata(metadata(one).emit(), "/save").operators[0].coordinator == Inline("name", b"state")
