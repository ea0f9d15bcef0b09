"""Zigzag varints, as records v2 use them for every length and delta.

Source: ``ByteUtils.java`` in Apache Kafka: an int takes 1 to 5 bytes, a long 1 to 10, low bits first.
"""

from __future__ import annotations

INT_BITS = 32
LONG_BITS = 64


def read_rest(data: bytes, position: int, first: int, bits: int) -> tuple[int, int]:
    """Finish a varint whose first byte (128 or more) is read; return (number before zigzag, next position).

    Callers read the first byte themselves, since nearly all varints end with it.  Raises ValueError for a number
    that does not fit ``bits``, IndexError past the end of ``data``.
    """
    number = first & 0x7F
    shift = 7
    while shift < bits:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> bits:
                break
            return number, position
        shift += 7
    raise ValueError(f"a varint of more than {bits} bits")


def write(out: bytearray, number: int) -> None:
    """Append ``number`` (a signed int64) to ``out``."""
    zigzag = (number << 1) ^ (number >> 63)
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
