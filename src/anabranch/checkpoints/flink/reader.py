"""Java's ``DataInput`` over bytes that are not trusted: every read is bounded by what is left."""

from __future__ import annotations

import struct
from typing import NoReturn

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import text

_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")


class ByteReader:
    """A cursor over ``data``, which is ``name`` of the checkpoint at ``path``.

    All numbers are big-endian. Reads past the end, counts that the rest cannot hold and values out of range raise
    ``DamagedCheckpointError`` with the byte; nothing is allocated by a length that was not checked.
    """

    __slots__ = ("at", "data", "end", "name", "path")

    def __init__(self, data: bytes, path: str, name: str) -> None:
        self.data = data
        self.path = path
        self.name = name
        self.at = 0
        self.end = len(data)

    @property
    def left(self) -> int:
        """How many bytes were not read yet."""
        return self.end - self.at

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Raise for bytes that break the format."""
        raise DamagedCheckpointError(self.path, self.name, f"byte {self.at if at is None else at:,}", what)

    def unknown(self, what: str, known: str, at: int) -> NoReturn:
        """Raise for a version or type byte that is not known."""
        raise UnknownVersionError(self.path, self.name, f"{what} at byte {at:,}", known)

    def raw(self, size: int) -> bytes:
        """That many bytes."""
        if size < 0 or size > self.left:
            self.fail(f"{size:,} bytes should follow, {self.left:,} are left")
        start = self.at
        self.at += size
        return self.data[start : self.at]

    def u8(self) -> int:
        """One byte."""
        if self.at >= self.end:
            self.fail("it ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def boolean(self) -> bool:
        """One byte that is 0 or 1."""
        value = self.u8()
        if value > 1:
            self.fail(f"{value} is neither true nor false", self.at - 1)
        return value == 1

    def u16(self) -> int:
        """Two bytes without a sign."""
        return self.i16() & 0xFFFF

    def i16(self) -> int:
        """Two bytes with a sign."""
        return int(_I16.unpack(self.raw(2))[0])

    def i32(self) -> int:
        """Four bytes."""
        return int(_I32.unpack(self.raw(4))[0])

    def i64(self) -> int:
        """Eight bytes."""
        return int(_I64.unpack(self.raw(8))[0])

    def utf(self) -> str:
        """A text of ``writeUTF``."""
        start = self.at
        try:
            return text.decode(self.raw(self.u16()))
        except ValueError:
            self.fail("a text is not modified UTF-8", start)

    def blob(self) -> bytes:
        """A length of four bytes, and that many bytes."""
        return self.raw(self.i32())

    def count(self, smallest: int) -> int:
        """How many elements follow, each of at least ``smallest`` bytes."""
        start = self.at
        value = self.i32()
        if value < 0 or value * smallest > self.left:
            self.fail(f"{value:,} elements should follow, {self.left:,} bytes are left", start)
        return value

    def skip(self, size: int) -> None:
        """Skip that many bytes."""
        if size < 0 or size > self.left:
            self.fail(f"{size:,} bytes should follow, {self.left:,} are left")
        self.at += size

    def finish(self) -> None:
        """Nothing may be left."""
        if self.left:
            self.fail(f"{self.left:,} bytes are left over")
