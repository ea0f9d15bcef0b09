"""Java's ``DataOutput``: the few encodings that a ``_metadata`` is made of, big-endian."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from anabranch.checkpoints.flink import text
from anabranch.errors import RefusedError

_UTF_LIMIT = 0xFFFF
_BLOB_LIMIT = (1 << 31) - 1


@dataclass(eq=False)
class TooLongError(RefusedError):
    """Something does not fit the length field of the format."""

    what: str
    size: int
    limit: int

    _message = "{what} has {size:,} bytes, the format holds {limit:,}"


def u8(value: int) -> bytes:
    """One byte."""
    return struct.pack(">B", value)


def i32(value: int) -> bytes:
    """Four bytes."""
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    """Eight bytes."""
    return struct.pack(">q", value)


def boolean(value: bool) -> bytes:
    """One byte."""
    return b"\x01" if value else b"\x00"


def utf(value: str) -> bytes:
    """A text of ``writeUTF``; raises ``TooLongError``."""
    raw = text.encode(value)
    if len(raw) > _UTF_LIMIT:
        raise TooLongError("a text", len(raw), _UTF_LIMIT)
    return struct.pack(">H", len(raw)) + raw


def blob(value: bytes) -> bytes:
    """A length of four bytes, and the bytes; raises ``TooLongError``."""
    if len(value) > _BLOB_LIMIT:
        raise TooLongError("a value", len(value), _BLOB_LIMIT)
    return i32(len(value)) + value
