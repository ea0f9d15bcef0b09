"""``.N.crc``: Hadoop's checksum of a file on a local file system, one CRC-32 every 512 bytes.

``crc\\0``, the bytes of a chunk as int32, then a sum for each chunk, all big-endian. Stores other than local ones have
none. Source: ``ChecksumFs.java`` of hadoop-common.
"""

from __future__ import annotations

import struct
import zlib

_MAGIC = b"crc\0"
_CHUNK = 512


def crc_path(path: str) -> str:
    """The path of a file's checksum."""
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}.{name}.crc"


def crc_of(content: bytes) -> bytes:
    """The checksum file of a content."""
    sums = [zlib.crc32(content[at : at + _CHUNK]) for at in range(0, len(content), _CHUNK)]
    return _MAGIC + struct.pack(f">i{len(sums)}I", _CHUNK, *sums)


def fits(content: bytes, checksum: bytes) -> bool:
    """Whether a checksum file, of any chunk size, is that of a content."""
    if len(checksum) < 8 or checksum[:4] != _MAGIC:
        return False
    (chunk,) = struct.unpack_from(">i", checksum, 4)
    if chunk < 1 or len(checksum) != 8 + 4 * -(-len(content) // chunk):
        return False
    sums = struct.unpack_from(f">{(len(checksum) - 8) // 4}I", checksum, 8)
    return all(zlib.crc32(content[number * chunk : (number + 1) * chunk]) == each for number, each in enumerate(sums))
