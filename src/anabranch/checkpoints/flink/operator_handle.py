"""The handle of one subtask's operator state: list and broadcast states by name, with the places of their elements."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from enum import IntEnum

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.handles import (
    EmptySegment,
    FileSegment,
    Inline,
    StreamHandle,
    make_absolute,
    read_stream,
)
from anabranch.checkpoints.flink.reader import ByteReader

_NULL, _PARTITIONABLE, _SEGMENTED = 0, 4, 17


class Mode(IntEnum):
    """How a state's elements are dealt out again at a restart."""

    SPLIT = 0
    UNION = 1
    BROADCAST = 2


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One state; ``offsets`` are bytes into the delegate's stream as it is stored, in the order of the elements."""

    name: str
    mode: Mode
    offsets: tuple[int, ...]

    def emit(self) -> bytes:
        count = len(self.offsets)
        return (
            writer.utf(self.name) + writer.u8(self.mode) + writer.i32(count) + struct.pack(f">{count}q", *self.offsets)
        )


@dataclass(frozen=True, slots=True)
class OperatorHandle:
    """``merged`` is None, or what a handle of merged files has beside: two directories, and whether it is empty.

    The order of the states is that of a Java hash map and is kept.
    """

    states: tuple[StateEntry, ...]
    delegate: StreamHandle
    merged: tuple[str, str, bool] | None = None

    @property
    def size(self) -> int:
        """Bytes of the stored stream."""
        return self.delegate.size

    def state(self, name: str) -> StateEntry | None:
        """The state of that name."""
        return next((state for state in self.states if state.name == name), None)

    def emit(self) -> bytes:
        states = writer.i32(len(self.states)) + b"".join(state.emit() for state in self.states)
        if self.merged is None:
            return writer.u8(_PARTITIONABLE) + states + self.delegate.emit()
        owned, shared, empty = self.merged
        beside = writer.utf(owned) + writer.utf(shared) + writer.boolean(empty)
        return writer.u8(_SEGMENTED) + states + beside + self.delegate.emit()

    def absolute(self, root: str) -> OperatorHandle:
        """The handle as it must be in a ``_metadata`` elsewhere."""
        return replace(self, delegate=make_absolute(self.delegate, root))

    def emptied(self, name: str) -> OperatorHandle:
        """The handle with no element in one state. What its elements were stays in the stream, and nothing reads it."""
        states = tuple(replace(state, offsets=()) if state.name == name else state for state in self.states)
        return replace(self, states=states)

    def inlined(self, name: str, offsets: dict[str, tuple[int, ...]], data: bytes) -> OperatorHandle:
        """The same states over another stream, inlined in ``_metadata``, wherever the old one was."""
        kept = self.delegate.name if isinstance(self.delegate, Inline) else name
        states = tuple(replace(state, offsets=offsets[state.name]) for state in self.states)
        return OperatorHandle(states, Inline(kept, data))


def read_operator_handle(reader: ByteReader) -> OperatorHandle | None:
    """One handle, None for a null. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``."""
    start = reader.at
    kind = reader.u8()
    if kind == _NULL:
        return None
    if kind not in (_PARTITIONABLE, _SEGMENTED):
        reader.unknown(f"the type {kind} of an operator state handle", "0, 4 and 17", start)
    states = tuple(_entry(reader) for _ in range(reader.count(7)))
    if len({state.name for state in states}) != len(states):
        reader.fail("a state's name is there twice", start)
    merged = (reader.utf(), reader.utf(), reader.boolean()) if kind == _SEGMENTED else None
    delegate = read_stream(reader)
    if merged is not None and not isinstance(delegate, (FileSegment, EmptySegment)):
        reader.fail("merged operator state is in no segment", start)
    return OperatorHandle(states, delegate, merged)


def _entry(reader: ByteReader) -> StateEntry:
    name, start = reader.utf(), reader.at
    mode = reader.u8()
    if mode > Mode.BROADCAST:
        reader.unknown(f"the distribution {mode} of a state", "0, 1 and 2", start)
    count = reader.count(8)
    return StateEntry(name, Mode(mode), struct.unpack(f">{count}q", reader.raw(8 * count)))
