"""The file ``_metadata``: read to its end, and emitted again byte for byte (``MetadataV3Serializer`` to ``V6``).

Two levels: names, ids, coordinators and operator state are values; keyed and in-flight state stay spans of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.handles import Inline, Null, read_stream
from anabranch.checkpoints.flink.java_object import skip_object
from anabranch.checkpoints.flink.keyed import NO_CHANNELS, NO_KEYED, Span, read_channels, read_keyed
from anabranch.checkpoints.flink.operator_handle import OperatorHandle, read_operator_handle
from anabranch.checkpoints.flink.reader import ByteReader

MAGIC = 0x4960672D
_MASTER_MAGIC = 0xC96B1696 - (1 << 32)
_VERSIONS = (3, 4, 5, 6)
_KNOWN = "3 (Flink 1.11 to 1.15), 4 (1.16 to 1.20), 5 (2.0) and 6 (2.1 to 2.3)"
_FULLY_FINISHED = -1


@dataclass(frozen=True, slots=True)
class Subtask:
    """One subtask's state; ``finished`` ones have none, nor any bytes after their index.

    ``managed`` and ``raw`` are its operator state, None where there is none.
    """

    index: int
    finished: bool = False
    managed: OperatorHandle | None = None
    raw: OperatorHandle | None = None
    keyed: tuple[Span, Span] = (NO_KEYED, NO_KEYED)
    channels: tuple[Span, Span] = (NO_CHANNELS, NO_CHANNELS)

    @property
    def size(self) -> int:
        """Bytes of its state as the handles tell, in-flight records included."""
        operator = sum(handle.size for handle in (self.managed, self.raw) if handle is not None)
        return operator + sum(span.size for span in (*self.keyed, *self.channels))

    @property
    def only_operator_state(self) -> bool:
        """Whether it holds neither raw, nor keyed, nor in-flight state."""
        return self.raw is None and self.keyed == (NO_KEYED, NO_KEYED) and self.channels == (NO_CHANNELS, NO_CHANNELS)

    def emit(self) -> bytes:
        if self.finished:
            return writer.i32(-self.index - 1)
        handles = [
            writer.i32(0) if handle is None else writer.i32(1) + handle.emit() for handle in (self.managed, self.raw)
        ]
        spans = (span.data for span in (*self.keyed, *self.channels))
        return b"".join((writer.i32(self.index), *handles, *spans))

    def absolute(self, root: str) -> Subtask:
        """The subtask as it must be in a ``_metadata`` elsewhere."""
        (managed_keyed, raw_keyed), (inputs, outputs) = self.keyed, self.channels
        return replace(
            self,
            managed=self.managed and self.managed.absolute(root),
            raw=self.raw and self.raw.absolute(root),
            keyed=(managed_keyed.absolute(root), raw_keyed.absolute(root)),
            channels=(inputs.absolute(root), outputs.absolute(root)),
        )


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator's state; ``id`` is 16 bytes; ``subtasks`` are None where every one of them has finished.

    ``name`` and ``uid`` are empty before Flink 2.0, which began to store them.
    """

    name: str
    uid: str
    id: bytes
    parallelism: int
    max_parallelism: int
    coordinator: Inline | None
    subtasks: tuple[Subtask, ...] | None

    @property
    def hex(self) -> str:
        """The id as Flink shows it."""
        return self.id.hex()

    @property
    def size(self) -> int:
        """Bytes of state as the handles tell."""
        subtasks = sum(subtask.size for subtask in self.subtasks or ())
        return subtasks + (self.coordinator.size if self.coordinator else 0)

    def emit(self, version: int) -> bytes:
        names = writer.utf(self.name) + writer.utf(self.uid) if version >= 5 else b""
        pieces = [names, self.id, writer.i32(self.parallelism), writer.i32(self.max_parallelism)]
        pieces.append((self.coordinator or Null()).emit())
        if self.subtasks is None:
            return b"".join((*pieces, writer.i32(_FULLY_FINISHED)))
        pieces.append(writer.i32(len(self.subtasks)))
        return b"".join((*pieces, *(subtask.emit() for subtask in self.subtasks)))


@dataclass(frozen=True, slots=True)
class SavepointMetadata:
    """A whole ``_metadata``; ``properties`` is a serialized Java object, kept as it is (since version 4)."""

    version: int
    checkpoint_id: int
    masters: tuple[bytes, ...]
    operators: tuple[Operator, ...]
    properties: bytes

    def emit(self) -> bytes:
        """The bytes of the file."""
        masters = (writer.i32(_MASTER_MAGIC) + writer.blob(master) for master in self.masters)
        return b"".join(
            (
                writer.i32(MAGIC),
                writer.i32(self.version),
                writer.i64(self.checkpoint_id),
                writer.i32(len(self.masters)),
                *masters,
                writer.i32(len(self.operators)),
                *(operator.emit(self.version) for operator in self.operators),
                self.properties,
            )
        )

    def absolute(self, root: str) -> SavepointMetadata:
        """The same for another directory: every file that was relative to ``root`` by its whole path.

        Raises ``ValueError`` where ``root`` is no absolute path or URI.
        """
        return replace(
            self,
            operators=tuple(
                replace(operator, subtasks=tuple(subtask.absolute(root) for subtask in operator.subtasks))
                if operator.subtasks is not None
                else operator
                for operator in self.operators
            ),
        )


def read_metadata(data: bytes, path: str, name: str = "_metadata") -> SavepointMetadata:
    """Parse a whole file. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``.

    Invariant: ``read_metadata(data).emit() == data``, which is checked here: what cannot be emitted is not read.
    """
    reader = ByteReader(data, path, name)
    if reader.i32() != MAGIC:
        reader.fail("it does not begin as a _metadata of Flink does", 0)
    version = reader.i32()
    if version not in _VERSIONS:
        reader.unknown(f"the metadata version {version}", _KNOWN, 4)
    number = reader.i64()
    if number < 0:
        reader.fail(f"the checkpoint id is {number}", 8)
    masters = tuple(_master(reader) for _ in range(reader.count(8)))
    operators = tuple(_operator(reader, version) for _ in range(reader.count(29)))
    if len({operator.id for operator in operators}) != len(operators):
        reader.fail("an operator id is there twice", 0)
    properties = b""
    if version >= 4:
        start = reader.at
        skip_object(reader)
        properties = data[start : reader.at]
    reader.finish()
    metadata = SavepointMetadata(version, number, masters, operators, properties)
    emitted = metadata.emit()
    if emitted != data:
        at = next((i for i, (a, b) in enumerate(zip(emitted, data, strict=False)) if a != b), len(emitted))
        reader.fail("these bytes would not be written again as they are", at)
    return metadata


def _master(reader: ByteReader) -> bytes:
    start = reader.at
    if reader.i32() != _MASTER_MAGIC:
        reader.fail("a master state does not begin as one", start)
    state = reader.blob()
    if not state:
        reader.fail("a master state is empty", start)
    return state


def _operator(reader: ByteReader, version: int) -> Operator:
    name, uid = (reader.utf(), reader.utf()) if version >= 5 else ("", "")
    identity, start = reader.raw(16), reader.at
    parallelism, max_parallelism = reader.i32(), reader.i32()
    if parallelism < 0:
        reader.fail(f"the parallelism is {parallelism}", start)
    start = reader.at
    coordinator = read_stream(reader)
    if not isinstance(coordinator, (Null, Inline)):
        reader.fail("a coordinator's state is not inline", start)
    kept = coordinator if isinstance(coordinator, Inline) else None
    start = reader.at
    count = reader.i32()
    subtasks: tuple[Subtask, ...] | None = None
    if count == _FULLY_FINISHED:
        if kept is not None:
            reader.fail("a finished operator has a coordinator's state", start)
    else:
        reader.at = start
        subtasks = tuple(_subtask(reader, version) for _ in range(reader.count(4)))
    return Operator(name, uid, identity, parallelism, max_parallelism, kept, subtasks)


def _subtask(reader: ByteReader, version: int) -> Subtask:
    index = reader.i32()
    if index < 0:
        return Subtask(-(index + 1), finished=True)
    managed, raw = _optional(reader), _optional(reader)
    keyed = read_keyed(reader), read_keyed(reader)
    channels = read_channels(reader, version), read_channels(reader, version)
    return Subtask(index, False, managed, raw, keyed, channels)


def _optional(reader: ByteReader) -> OperatorHandle | None:
    start = reader.at
    present = reader.i32()
    if present not in (0, 1):
        reader.fail(f"{present} tells neither presence nor absence", start)
    if not present:
        return None
    handle = read_operator_handle(reader)
    if handle is None:
        reader.fail("a null handle where operator state should be", start)
    return handle
