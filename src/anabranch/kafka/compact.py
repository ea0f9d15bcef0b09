"""Lengths, strings and tagged fields as flexible versions of the protocol write them (KIP-482)."""

from __future__ import annotations

_SMALL = tuple(bytes((value,)) for value in range(128))


def uvarint(value: int) -> bytes:
    """The bytes of a non-negative integer."""
    if value < 128:
        return _SMALL[value]
    out = bytearray()
    while value >= 128:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(view: memoryview, at: int) -> tuple[int, int]:
    """(value, position after it); raises IndexError past the end and ValueError past five bytes."""
    byte = view[at]
    if byte < 128:
        return byte, at + 1
    value = byte & 0x7F
    shift = 7
    while True:
        at += 1
        byte = view[at]
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
        if shift > 28:
            raise ValueError("a length of more than five bytes")


def read_string(view: memoryview, at: int) -> tuple[str, int]:
    """(string, position after it); null reads as the empty string."""
    length, at = read_uvarint(view, at)
    if length == 0:
        return "", at
    return str(view[at : at + length - 1], "utf-8"), at + length - 1


def skip_tags(view: memoryview, at: int) -> int:
    """The position after a tagged-field section."""
    tags, at = read_uvarint(view, at)
    for _ in range(tags):
        _, at = read_uvarint(view, at)
        size, at = read_uvarint(view, at)
        at += size
    return at
