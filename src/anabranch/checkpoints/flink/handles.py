"""Handles of state: where bytes of a state are, inline or in a file (``MetadataV2V3SerializerBase``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.checkpoints.flink import writer
from anabranch.checkpoints.flink.reader import ByteReader

MAX_DEPTH = 8
"""Handles hold handles; no engine nests them deeper than three."""

_NULL, _INLINE, _FILE, _KEY_GROUPS, _RELATIVE, _SEGMENT, _EMPTY = 0, 1, 2, 3, 6, 15, 16
_KNOWN = "0, 1, 2, 3, 6, 15 and 16"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class Null:
    """No state."""

    @property
    def size(self) -> int:
        return 0

    def emit(self) -> bytes:
        return writer.u8(_NULL)


@dataclass(frozen=True, slots=True)
class Inline:
    """Bytes that stand in ``_metadata`` itself."""

    name: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def emit(self) -> bytes:
        return writer.u8(_INLINE) + writer.utf(self.name) + writer.blob(self.data)


@dataclass(frozen=True, slots=True)
class File:
    """A file by its absolute path or URI."""

    path: str
    size: int

    def emit(self) -> bytes:
        return writer.u8(_FILE) + writer.i64(self.size) + writer.utf(self.path)


@dataclass(frozen=True, slots=True)
class RelativeFile:
    """A file beside ``_metadata``; path and size stand in another order than in ``File``."""

    path: str
    size: int

    def emit(self) -> bytes:
        return writer.u8(_RELATIVE) + writer.utf(self.path) + writer.i64(self.size)

    def absolute(self, root: str) -> File:
        """The same file by its whole path."""
        return File(f"{absolute_root(root)}/{self.path}", self.size)


@dataclass(frozen=True, slots=True)
class FileSegment:
    """A range of a merged file, since Flink 1.20; ``scope`` is 0 for exclusive and 1 for shared files."""

    start: int
    size: int
    scope: int
    path: str
    logical: str

    def emit(self) -> bytes:
        return (
            writer.u8(_SEGMENT)
            + writer.i64(self.start)
            + writer.i64(self.size)
            + writer.i32(self.scope)
            + writer.utf(self.path)
            + writer.utf(self.logical)
        )


@dataclass(frozen=True, slots=True)
class EmptySegment:
    """No state, where files are merged."""

    @property
    def size(self) -> int:
        return 0

    def emit(self) -> bytes:
        return writer.u8(_EMPTY)


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """A stream with the places of its key groups; only ever carried along."""

    first: int
    offsets: bytes
    stream: StreamHandle

    @property
    def size(self) -> int:
        return self.stream.size

    def emit(self) -> bytes:
        count = len(self.offsets) // 8
        return writer.u8(_KEY_GROUPS) + writer.i32(self.first) + writer.i32(count) + self.offsets + self.stream.emit()


StreamHandle = Null | Inline | File | RelativeFile | FileSegment | EmptySegment | KeyGroups


def read_stream(reader: ByteReader, depth: int = 0) -> StreamHandle:
    """One stream handle. Raises ``DamagedCheckpointError``, and ``UnknownVersionError`` for an unknown type."""
    start = reader.at
    if depth > MAX_DEPTH:
        reader.fail("handles are nested too deep", start)
    kind = reader.u8()
    if kind == _NULL:
        return Null()
    if kind == _INLINE:
        return Inline(reader.utf(), reader.blob())
    if kind == _FILE:
        size = _size(reader)
        return File(reader.utf(), size)
    if kind == _RELATIVE:
        path = reader.utf()
        return RelativeFile(path, _size(reader))
    if kind == _SEGMENT:
        at, size, scope = _size(reader), _size(reader), reader.i32()
        if scope not in (0, 1):
            reader.unknown(f"the scope {scope} of a file segment", "0 and 1", start)
        return FileSegment(at, size, scope, reader.utf(), reader.utf())
    if kind == _EMPTY:
        return EmptySegment()
    if kind != _KEY_GROUPS:
        reader.unknown(f"the type {kind} of a stream handle", _KNOWN, start)
    first = reader.i32()
    return KeyGroups(first, reader.raw(8 * reader.count(8)), read_stream(reader, depth + 1))


def make_absolute(handle: StreamHandle, root: str) -> StreamHandle:
    """The handle as it must be in a ``_metadata`` elsewhere."""
    if isinstance(handle, RelativeFile):
        return handle.absolute(root)
    if isinstance(handle, KeyGroups):
        return KeyGroups(handle.first, handle.offsets, make_absolute(handle.stream, root))
    return handle


def absolute_root(root: str) -> str:
    """The directory as Flink writes it: a URI, ``file:/...`` for a local path. Raises ``ValueError`` if relative."""
    if root.startswith("/"):
        root = f"file:{root}"
    if not _SCHEME.match(root):
        raise ValueError(f"{root!r} is not an absolute path")
    return root.rstrip("/")


def _size(reader: ByteReader) -> int:
    start = reader.at
    value = reader.i64()
    if value < 0:
        reader.fail(f"{value} is not a size", start)
    return value
