"""A KafkaSource's enumerator: which partitions were found and handed out (``KafkaSourceEnumStateSerializer``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.split import (
    SPLIT_VERSION,
    KafkaSplit,
    emit_partition,
    read_partition,
    read_split,
)
from anabranch.model.topics import TopicPartition

ASSIGNED, UNASSIGNED = 0, 1
CONNECTORS = {
    0: "Flink 1.12",
    1: "Flink 1.13 to 1.17, connector 3.0",
    2: "connector 3.1 to 4.0",
    3: "connector 5.0",
}
"""What wrote each version of the state."""

_KNOWN = "0 to 3 (connectors up to 5.0)"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One partition; ``split`` only in version 3, where its offsets are used only while it was not handed out."""

    partition: TopicPartition
    status: int = ASSIGNED
    split: KafkaSplit | None = None


@dataclass(frozen=True, slots=True)
class EnumeratorState:
    """``discovered`` tells whether the first discovery is over, None in versions that do not store it."""

    version: int
    assignments: tuple[Assignment, ...]
    discovered: bool | None = None
    subtasks: tuple[tuple[int, int], ...] = ()
    """Version 0: each subtask's number, and how many of the assignments, in their order, are its own."""

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """Partitions that were handed to a reader."""
        return frozenset(one.partition for one in self.assignments if one.status == ASSIGNED)

    def with_assignments(self, assignments: tuple[Assignment, ...]) -> EnumeratorState:
        """The state with other partitions, in this order."""
        return replace(self, assignments=assignments)

    def emit(self) -> bytes:
        """The bytes in its own version."""
        count = writer.i32(len(self.assignments))
        tail = b"" if self.discovered is None else writer.boolean(self.discovered)
        if self.version == 0:
            return self._emit_first()
        if self.version == 1:
            return count + b"".join(emit_partition(one.partition) for one in self.assignments)
        if self.version == 2:
            return count + b"".join(emit_partition(o.partition) + writer.i32(o.status) for o in self.assignments) + tail
        pieces = (writer.blob(_split(one).emit()) + writer.i32(one.status) for one in self.assignments)
        return count + writer.i32(SPLIT_VERSION) + b"".join(pieces) + tail

    def _emit_first(self) -> bytes:
        pieces, at = [writer.i32(len(self.subtasks)), writer.i32(SPLIT_VERSION)], 0
        for number, count in self.subtasks:
            own = self.assignments[at : at + count]
            pieces += [writer.i32(number), writer.i32(count), *(writer.blob(_split(one).emit()) for one in own)]
            at += count
        return b"".join(pieces)


def read_enumerator(reader: ByteReader, version: int) -> EnumeratorState:
    """The state that is left in ``reader``, all of it. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``.

    A later version may hold topic ids, which mean other topics on another cluster: it is not read.
    """
    if version == 0:
        state = _read_first(reader)
    elif version == 1:
        state = EnumeratorState(1, tuple(Assignment(read_partition(reader)) for _ in range(reader.count(6))))
    elif version == 2:
        found = tuple(Assignment(read_partition(reader), _status(reader)) for _ in range(reader.count(10)))
        state = EnumeratorState(2, found, reader.boolean())
    elif version == 3:
        start, count = reader.at, reader.count(0)
        _check_split_version(reader)
        if count * 30 > reader.left:
            reader.fail(f"{count:,} partitions should follow, {reader.left:,} bytes are left", start)
        state = EnumeratorState(3, tuple(_with_split(reader) for _ in range(count)), reader.boolean())
    else:
        reader.unknown(f"the KafkaSource enumerator version {version}", _KNOWN, reader.at)
    reader.finish()
    partitions = [one.partition for one in state.assignments]
    if len(set(partitions)) != len(partitions):
        reader.fail("a partition is there twice")
    return state


def _read_first(reader: ByteReader) -> EnumeratorState:
    start, count = reader.at, reader.count(0)
    _check_split_version(reader)
    if count * 8 > reader.left:
        reader.fail(f"{count:,} subtasks should follow, {reader.left:,} bytes are left", start)
    subtasks, found = [], []
    for _ in range(count):
        number, own = reader.i32(), reader.count(26)
        subtasks.append((number, own))
        for _ in range(own):
            split = _split_of(reader)
            found.append(Assignment(split.partition, ASSIGNED, split))
    return EnumeratorState(0, tuple(found), None, tuple(subtasks))


def _with_split(reader: ByteReader) -> Assignment:
    split = _split_of(reader)
    return Assignment(split.partition, _status(reader), split)


def _split_of(reader: ByteReader) -> KafkaSplit:
    start = reader.at
    size = reader.i32()
    inner = ByteReader(reader.data, reader.path, reader.name)
    reader.skip(size)
    inner.at, inner.end = start + 4, reader.at
    return read_split(inner)


def _status(reader: ByteReader) -> int:
    start = reader.at
    status = reader.i32()
    if status not in (ASSIGNED, UNASSIGNED):
        reader.unknown(f"the assignment status {status}", "0 and 1", start)
    return status


def _check_split_version(reader: ByteReader) -> None:
    start = reader.at
    version = reader.i32()
    if version != SPLIT_VERSION:
        reader.unknown(f"the split version {version}", "0", start)


def _split(assignment: Assignment) -> KafkaSplit:
    if assignment.split is None:
        raise ValueError(f"{assignment.partition} has no split")
    return assignment.split
