"""The framed form of snappy, in which Flink compresses operator state since 1.18 (google/snappy framing_format.txt)."""

from __future__ import annotations

import cramjam
import google_crc32c

from anabranch.checkpoints.flink.reader import ByteReader

STREAM_ID = b"\xff\x06\x00\x00sNaPpY"
_COMPRESSED, _STORED, _STREAM, _FIRST_SKIPPED = 0x00, 0x01, 0xFF, 0x80
_BLOCK = 65536


def decompress(reader: ByteReader, limit: int) -> bytes:
    """All chunks that are left. Raises ``DamagedCheckpointError`` for what is no chunk, also by its checksum.

    The result has at most ``limit`` bytes; a block has at most 64 KiB, whatever it claims.
    """
    pieces: list[bytes] = []
    size = 0
    while reader.left:
        start = reader.at
        kind = reader.u8()
        body = reader.raw(int.from_bytes(reader.raw(3), "little"))
        if kind == _STREAM:
            if body != STREAM_ID[4:]:
                reader.fail("a snappy stream does not begin as one", start)
        elif kind in (_COMPRESSED, _STORED):
            piece = _block(reader, body, kind == _COMPRESSED, start)
            size += len(piece)
            if size > limit:
                reader.fail(f"it decompresses to more than {limit} bytes", start)
            pieces.append(piece)
        elif kind < _FIRST_SKIPPED:
            reader.fail(f"a snappy chunk of the unknown type {kind}", start)
    return b"".join(pieces)


def _block(reader: ByteReader, body: bytes, compressed: bool, start: int) -> bytes:
    if len(body) < 4:
        reader.fail("a snappy chunk has no checksum", start)
    piece = body[4:]
    if compressed:
        try:
            if cramjam.snappy.decompress_raw_len(piece) > _BLOCK:
                reader.fail("a snappy block claims more than 64 KiB", start)
            piece = bytes(cramjam.snappy.decompress_raw(piece))
        except cramjam.DecompressionError:
            reader.fail("a snappy block is damaged", start)
    if len(piece) > _BLOCK:
        reader.fail("a snappy block has more than 64 KiB", start)
    crc = google_crc32c.value(piece)
    if ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF != int.from_bytes(body[:4], "little"):
        reader.fail("a snappy block's checksum is wrong", start)
    return piece
