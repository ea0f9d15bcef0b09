"""Handles of state, byte by byte: what is given back, and what is refused by its place."""

from __future__ import annotations

import pytest

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.handles import (
    MAX_DEPTH,
    EmptySegment,
    File,
    FileSegment,
    Inline,
    KeyGroups,
    Null,
    RelativeFile,
    StreamHandle,
    absolute_root,
    make_absolute,
    read_stream,
)
from anabranch.checkpoints.flink.operator_handle import Mode, OperatorHandle, StateEntry, read_operator_handle
from anabranch.checkpoints.flink.reader import ByteReader

pytestmark = pytest.mark.unit

SEGMENT = FileSegment(7, 9, 1, "/state/merged", "id")
STREAMS: list[StreamHandle] = [
    Null(),
    Inline("n", b"data"),
    File("/state/a", 5),
    RelativeFile("a", 5),
    SEGMENT,
    FileSegment(0, 0, 0, "p", "i"),
    EmptySegment(),
    KeyGroups(3, bytes(16), File("/state/a", 5)),
]


def reader(data: bytes) -> ByteReader:
    """Of a file's bytes."""
    return ByteReader(data, "/save", "_metadata")


@pytest.mark.parametrize("handle", STREAMS, ids=lambda one: type(one).__name__)
def test_a_stream_is_read_as_it_was_written(handle: StreamHandle) -> None:
    """To its last byte and no further."""
    made = reader(handle.emit() + b"more")
    assert read_stream(made) == handle
    assert made.left == 4


@pytest.mark.parametrize(
    "size", [File("/a", -1), RelativeFile("a", -1), FileSegment(-1, 1, 0, "p", "i"), FileSegment(1, -1, 0, "p", "i")]
)
def test_a_size_below_nothing_is_refused(size: StreamHandle) -> None:
    """No file has it."""
    with pytest.raises(DamagedCheckpointError, match="-1 is not a size"):
        read_stream(reader(size.emit()))


def test_what_later_versions_may_write_is_not_guessed() -> None:
    """Another scope of a segment, and another kind of handle or of distribution."""
    with pytest.raises(UnknownVersionError, match="scope 2"):
        read_stream(reader(FileSegment(1, 1, 2, "p", "i").emit()))
    with pytest.raises(UnknownVersionError, match="type 99 of a stream handle"):
        read_stream(reader(writer.u8(99)))
    with pytest.raises(UnknownVersionError, match="type 99 of an operator state handle"):
        read_operator_handle(reader(writer.u8(99)))
    good = OperatorHandle((StateEntry("s", Mode.BROADCAST, (1, 2)),), Inline("n", b"data")).emit()
    at = good.index(b"s") + 1
    with pytest.raises(UnknownVersionError, match="distribution 3"):
        read_operator_handle(reader(good[:at] + b"\3" + good[at + 1 :]))


@pytest.mark.parametrize(("depth", "fits"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_handles_are_nested_only_so_deep(depth: int, fits: bool) -> None:
    """One deeper is refused, before the stack of this program is."""
    handle: StreamHandle = Null()
    for _ in range(depth):
        handle = KeyGroups(0, b"", handle)
    if fits:
        assert read_stream(reader(handle.emit())) == handle
        return
    with pytest.raises(DamagedCheckpointError, match="nested too deep"):
        read_stream(reader(handle.emit()))


@pytest.mark.parametrize(
    "handle",
    [
        OperatorHandle((), Inline("n", b"")),
        OperatorHandle((StateEntry("a", Mode.SPLIT, (0, 5)), StateEntry("b", Mode.UNION, ())), File("/state/a", 9)),
        OperatorHandle((StateEntry("a", Mode.SPLIT, (0,)),), SEGMENT, ("owned", "shared", True)),
        OperatorHandle((), EmptySegment(), ("owned", "", False)),
    ],
)
def test_operator_state_is_read_as_it_was_written(handle: OperatorHandle) -> None:
    """With the places of its elements, and what stands beside merged state."""
    made = reader(handle.emit() + b"more")
    assert read_operator_handle(made) == handle
    assert made.left == 4


def test_no_operator_state_is_none() -> None:
    """A null."""
    assert read_operator_handle(reader(writer.u8(0))) is None


def test_operator_state_that_cannot_be_is_refused() -> None:
    """Two states of one name, and merged state outside of a segment."""
    twice = OperatorHandle((StateEntry("a", Mode.SPLIT, ()), StateEntry("a", Mode.UNION, ())), Null())
    with pytest.raises(DamagedCheckpointError, match="name is there twice"):
        read_operator_handle(reader(twice.emit()))
    for stream in (Inline("n", b""), File("/a", 1), Null()):
        merged = OperatorHandle((), stream, ("owned", "shared", True))
        with pytest.raises(DamagedCheckpointError, match="is in no segment"):
            read_operator_handle(reader(merged.emit()))


def test_a_state_without_elements_keeps_the_others() -> None:
    """And a state is found by its name."""
    one, two = StateEntry("a", Mode.SPLIT, (0, 5)), StateEntry("b", Mode.UNION, (7,))
    handle = OperatorHandle((one, two), Inline("n", b"0123456789"))
    emptied = handle.emptied("a")
    assert emptied == OperatorHandle((StateEntry("a", Mode.SPLIT, ()), two), handle.delegate)
    assert (handle.state("b"), handle.state("c")) == (two, None)


def test_state_that_is_put_inline_keeps_its_name_where_it_has_one() -> None:
    """Merged state is merged no longer."""
    one = StateEntry("a", Mode.SPLIT, (0, 5))
    moved = StateEntry("a", Mode.SPLIT, (1, 2))
    for stream, name in ((Inline("n", b"old"), "n"), (SEGMENT, "given")):
        handle = OperatorHandle((one,), stream, ("o", "s", True) if stream is SEGMENT else None)
        assert handle.inlined("given", {"a": (1, 2)}, b"new") == OperatorHandle((moved,), Inline(name, b"new"))


@pytest.mark.parametrize(
    ("root", "whole"),
    [
        ("/save/1", "file:/save/1"),
        ("/save/1/", "file:/save/1"),
        ("s3://b/1/", "s3://b/1"),
        ("file:/save", "file:/save"),
    ],
)
def test_only_relative_files_are_named_whole_elsewhere(root: str, whole: str) -> None:
    """Also inside of what holds them; a directory that is not absolute cannot be named."""
    relative, far = RelativeFile("a", 5), File(f"{whole}/a", 5)
    assert absolute_root(root) == whole
    assert make_absolute(relative, root) == far
    assert make_absolute(KeyGroups(3, bytes(16), relative), root) == KeyGroups(3, bytes(16), far)
    assert OperatorHandle((), relative).absolute(root) == OperatorHandle((), far)
    for other in (Null(), Inline("n", b""), File("/b", 1), SEGMENT, EmptySegment()):
        assert make_absolute(other, root) == other
    with pytest.raises(ValueError, match="not an absolute path"):
        absolute_root("save/1")
