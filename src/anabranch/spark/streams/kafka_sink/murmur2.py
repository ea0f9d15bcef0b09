"""The hash by which Kafka's Java producer gives a key its partition, of many keys at once.

Source: ``Utils.murmur2`` and ``BuiltInPartitioner.partitionForKey`` in Apache Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_MOST_WORDS = 64


def murmur2(key: bytes) -> int:
    """The hash of one key, 0 to 2^32 - 1."""
    length = len(key)
    found = (_SEED ^ length) & _MASK
    whole = length & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        found = (found * _M & _MASK) ^ word
    if length > whole:
        found ^= int.from_bytes(key[whole:], "little")
        found = found * _M & _MASK
    found ^= found >> 13
    found = found * _M & _MASK
    return found ^ found >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a key among so many."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def partitions_of(data: NDArray[Any], offsets: NDArray[Any], partitions: int) -> NDArray[np.int64]:
    """The partitions of many keys: key ``i`` is the bytes of ``data`` from ``offsets[i]`` to ``offsets[i + 1]``.

    Keys are hashed a word at a time, all of them at once; those of many words one by one, for nobody shares their
    turns.
    """
    import numpy as np

    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    multiplier = np.uint32(_M)
    found = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    padded = np.concatenate((data, np.zeros(4, np.uint8)))  # so that the last word may be looked at whole
    words = lengths >> 2
    rows = np.flatnonzero(words <= _MOST_WORDS)
    for at in range(int(words[rows].max()) if len(rows) else 0):
        rows = rows[words[rows] > at]
        word = _word(padded, starts[rows] + 4 * at) * multiplier
        word = (word ^ word >> np.uint32(24)) * multiplier
        found[rows] = found[rows] * multiplier ^ word
    rest = lengths & 3
    rows = np.flatnonzero(rest * (words <= _MOST_WORDS))
    if len(rows):
        kept = (np.uint32(1) << (8 * rest[rows]).astype(np.uint32)) - np.uint32(1)
        tail = _word(padded, starts[rows] + 4 * words[rows]) & kept
        found[rows] = (found[rows] ^ tail) * multiplier
    found ^= found >> np.uint32(13)
    found *= multiplier
    found ^= found >> np.uint32(15)
    for row in np.flatnonzero(words > _MOST_WORDS):
        found[row] = murmur2(data[starts[row] : starts[row] + lengths[row]].tobytes())
    return (found & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions


def _word(data: NDArray[Any], at: NDArray[Any]) -> NDArray[np.uint32]:
    """The four bytes at each place as a little-endian number."""
    import numpy as np

    taken = data[at[:, None] + np.arange(4)]
    return np.ascontiguousarray(taken).view("<u4").reshape(-1).astype(np.uint32)
