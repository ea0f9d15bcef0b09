"""State that is only carried along: keyed and in-flight state as spans of bytes, with the relative files in them."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.flink.handles import (
    MAX_DEPTH,
    EmptySegment,
    FileSegment,
    KeyGroups,
    RelativeFile,
    read_stream,
)
from anabranch.checkpoints.flink.reader import ByteReader

_NULL = 0
_KEY_GROUPS = (3, 7, 12)
_KEY_GROUPS_V2 = 12
_INCREMENTAL = (5, 11)
_INCREMENTAL_V2 = 11
_CHANGELOG = (8, 14)
_CHANGELOG_V2 = 14
_CHANGELOG_BYTES = 9
_CHANGELOG_FILES = (10, 13)
_CHANGELOG_FILES_V2 = 13
_KNOWN = "0, 3, 5 and 7 to 14"
_MERGED = (3, 4)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes that are copied as they are; ``size`` is what the handles in it say of the state, in bytes.

    ``relatives`` are the relative handles in it: first byte, byte behind, the handle; in the order of their places.
    """

    data: bytes
    size: int = 0
    relatives: tuple[tuple[int, int, RelativeFile], ...] = ()
    merged: bool = False
    """Whether a handle of a merged file is inside."""

    def absolute(self, root: str) -> Span:
        """The span with every relative file made absolute."""
        if not self.relatives:
            return self
        pieces, at = [], 0
        for start, end, handle in self.relatives:
            pieces += [self.data[at:start], handle.absolute(root).emit()]
            at = end
        return Span(b"".join((*pieces, self.data[at:])), self.size, (), self.merged)


class _Walk:
    """Goes over handles and notes what is needed of them."""

    def __init__(self, reader: ByteReader) -> None:
        self.reader = reader
        self.start = reader.at
        self.size = 0
        self.relatives: list[tuple[int, int, RelativeFile]] = []
        self.merged = False

    def span(self) -> Span:
        data = self.reader.data[self.start : self.reader.at]
        return Span(data, self.size, tuple(self.relatives), self.merged)

    def stream(self) -> None:
        handle = read_stream(self.reader)
        self.size += handle.size
        while isinstance(handle, KeyGroups):
            handle = handle.stream
        if isinstance(handle, RelativeFile):
            # The handle is the last thing in whatever holds it, so its own bytes end at the current position.
            end = self.reader.at - self.start
            self.relatives.append((end - len(handle.emit()), end, handle))
        self.merged |= isinstance(handle, (FileSegment, EmptySegment))

    def named_streams(self) -> None:
        for _ in range(self.reader.count(3)):
            self.reader.utf()
            self.stream()

    def keyed(self, depth: int = 0) -> None:
        reader, start = self.reader, self.reader.at
        if depth > MAX_DEPTH:
            reader.fail("handles are nested too deep", start)
        kind = reader.u8()
        if kind == _NULL:
            return
        if kind in _KEY_GROUPS:
            reader.skip(4)
            reader.skip(8 * reader.count(8))
            self.stream()
            if kind == _KEY_GROUPS_V2:
                reader.utf()
        elif kind in _INCREMENTAL:
            reader.skip(8)
            reader.utf()
            reader.skip(8 if kind != _INCREMENTAL_V2 else 16)
            self.stream()
            self.named_streams()
            self.named_streams()
            if kind == _INCREMENTAL_V2:
                reader.utf()
        elif kind in _CHANGELOG:
            reader.skip(16)
            for _ in range(2):
                for _ in range(reader.count(1)):
                    self.keyed(depth + 1)
            reader.skip(8 if kind != _CHANGELOG_V2 else 16)
            reader.utf()
        elif kind == _CHANGELOG_BYTES:
            reader.skip(24)
            for _ in range(reader.count(8)):
                reader.skip(4)
                self.size += len(reader.blob())
            reader.utf()
        elif kind in _CHANGELOG_FILES:
            reader.skip(8)
            for _ in range(reader.count(9)):
                reader.skip(8)
                self.stream()
            reader.skip(16)
            reader.utf()
            if kind == _CHANGELOG_FILES_V2:
                reader.utf()
        else:
            reader.unknown(f"the type {kind} of a keyed state handle", _KNOWN, start)

    def channels(self, version: int) -> None:
        reader = self.reader
        for _ in range(reader.count(2)):
            start = reader.at
            kind = reader.u8() if version >= 6 else 1
            if kind in (1, 2):
                reader.skip(12)
                reader.skip(8 * reader.count(8))
                reader.skip(8)
                self.stream()
            elif kind in _MERGED:
                reader.skip(12)
                self.stream()
                reader.blob()
            else:
                reader.unknown(f"the kind {kind} of a channel state handle", "1 to 4", start)


def read_keyed(reader: ByteReader) -> Span:
    """One keyed state handle."""
    walk = _Walk(reader)
    walk.keyed()
    return walk.span()


def read_channels(reader: ByteReader, version: int) -> Span:
    """A list of channel state handles of an unaligned checkpoint."""
    walk = _Walk(reader)
    walk.channels(version)
    return walk.span()


NO_KEYED = Span(b"\x00")
NO_CHANNELS = Span(b"\x00\x00\x00\x00")
