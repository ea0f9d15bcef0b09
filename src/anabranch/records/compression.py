"""Compress and expand the records of a batch, as Kafka's Java clients do, in bounded memory.

Details that other writers get wrong: snappy is the block stream of the xerial library (raw snappy is read too);
LZ4 frames must have independent blocks, since Java's reader refuses linked ones.

Sources: ``SnappyCompression``, ``Lz4BlockOutputStream`` and ``Lz4BlockInputStream`` in Apache Kafka; the xerial
stream's layout is that of ``SnappyCodec`` in snappy-java.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable
from struct import Struct

import cramjam

from anabranch.records.header import Codec

EXPANDED_LIMIT = 256 << 20
"""Bytes that one batch may expand to unless the caller says otherwise."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK = 32 << 10
_BLOCK_LENGTH = Struct(">i")
_GZIP_FORMAT = 31
_LZ4_LEVEL = 1  # the fast mode, as Kafka's clients use; without a level the library takes the slow one
_ZSTD_LEVEL = 3
_SNAPPY_MOST = 32  # its densest element makes 64 bytes of 3
_LZ4_MOST = 255  # its densest element makes 255 bytes of 1
_HEADROOM = 64 << 10


def compress(codec: Codec, data: bytes) -> bytes:
    """Compress the records of a batch; level and block sizes are Kafka's defaults."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            gzip = zlib.compressobj(wbits=_GZIP_FORMAT)
            return gzip.compress(data) + gzip.flush()
        case Codec.SNAPPY:
            return _xerial(data)
        case Codec.LZ4:
            lz4 = cramjam.lz4.Compressor(level=_LZ4_LEVEL, content_checksum=False, block_linked=False)
            lz4.compress(data)
            return bytes(lz4.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))


def expand(codec: Codec, data: bytes, limit: int = EXPANDED_LIMIT) -> bytes:
    """Undo ``compress``, or what any Kafka client did; raise ValueError for broken data or over ``limit`` bytes."""
    try:
        match codec:
            case Codec.NONE:
                return data
            case Codec.GZIP:
                return _gunzip(data, limit)
            case Codec.SNAPPY:
                return _snappy(data, limit)
            case Codec.LZ4:
                return _frame(cramjam.lz4.decompress_into, data, min(limit, _LZ4_MOST * len(data) + _HEADROOM))
            case Codec.ZSTD:
                return _frame(cramjam.zstd.decompress_into, data, limit)
    except (cramjam.DecompressionError, zlib.error) as error:
        raise ValueError(f"{codec.name.lower()} data cannot be expanded within {limit:,} bytes: {error}") from error


def _frame(decompress_into: Callable[[bytes, bytearray | mmap.mmap], int], data: bytes, limit: int) -> bytes:
    """Expand into a buffer of a likely size, else into one of ``limit`` bytes of untouched pages.

    The library says "too small" and "broken" with one error, so a second try decides; memory that is mapped but
    not written to costs nothing.
    """
    likely = bytearray(min(limit, 4 * len(data) + _HEADROOM))
    try:
        return bytes(memoryview(likely)[: decompress_into(data, likely)])
    except cramjam.DecompressionError:
        if len(likely) >= limit:
            raise
    del likely
    with mmap.mmap(-1, limit) as pages:
        return pages[: decompress_into(data, pages)]


def _gunzip(data: bytes, limit: int) -> bytes:
    """Expand one or more gzip members."""
    parts: list[bytes] = []
    room = limit
    rest = data
    while rest or not parts:
        gzip = zlib.decompressobj(wbits=_GZIP_FORMAT)
        part = gzip.decompress(rest, room + 1)
        room -= len(part)
        if room < 0:
            raise ValueError(f"gzip data expands to more than {limit:,} bytes")
        if not gzip.eof:
            raise ValueError("gzip data is cut off")
        parts.append(part)
        rest = gzip.unused_data
    return b"".join(parts)


def _snappy(data: bytes, limit: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(data, limit)
    # Versions after the magic are not compared: some brokers write them little-endian.
    parts: list[bytes] = []
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + 4 > len(data):
            raise ValueError("snappy stream is cut off in a block's length")
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += 4
        if not 0 <= length <= len(data) - position:
            raise ValueError(f"snappy block of {length:,} bytes where {len(data) - position:,} are left")
        parts.append(_snappy_block(data[position : position + length], limit))
        limit -= len(parts[-1])
        position += length
    return b"".join(parts)


def _snappy_block(block: bytes, limit: int) -> bytes:
    claimed = cramjam.snappy.decompress_raw_len(block)
    if claimed > limit or claimed > _SNAPPY_MOST * len(block):
        raise ValueError(f"snappy block of {len(block):,} bytes claims to expand to {claimed:,}")
    return bytes(cramjam.snappy.decompress_raw(block))


def _xerial(data: bytes) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK])
        out += _BLOCK_LENGTH.pack(len(block))
        out += memoryview(block)
    return bytes(out)
