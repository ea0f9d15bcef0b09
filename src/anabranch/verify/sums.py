"""Chunk sums: the records of a chunk as a count and three numbers, whatever the order and the tasks they are read in.

A record has a digest of 128 bits of all that a copy must keep, made where it is read.  Each half is hashed on with the
record's source offset and XORed into its own number; the first is added up too, modulo 2^64.  So the same contents at
other source offsets, two records exchanged, and one read twice all give other sums: two chunks with other contents have
equal sums with a probability of about 2^-128, unless someone who knows the hash makes them so: this finds faults,
not forgery.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from anabranch.verify.pins import CHUNK_BITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Words = NDArray[np.uint64]

# XXH64, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME_4, _PRIME_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_WORD = (1 << 64) - 1


class Sum(NamedTuple):
    """The records of one chunk; the numbers are unsigned, of 64 bits."""

    records: int = 0
    bytes: int = 0
    first: int = 0
    second: int = 0
    total: int = 0

    def plus(self, other: Sum) -> Sum:
        """Both together."""
        return Sum(
            self.records + other.records,
            self.bytes + other.bytes,
            self.first ^ other.first,
            self.second ^ other.second,
            (self.total + other.total) & _WORD,
        )

    @property
    def digest(self) -> str:
        """The contents as text; ``bytes`` have no part in it."""
        return f"{self.first:016x}{self.second:016x}{self.total:016x}"

    def same(self, other: Sum) -> bool:
        """Whether the same records were summed up."""
        return self.records == other.records and self.digest == other.digest


NOTHING = Sum()


@dataclass(frozen=True, slots=True)
class ChunkSums:
    """Sums by chunk, as columns of one length."""

    chunks: Longs
    records: Longs
    bytes: Longs
    firsts: Words
    seconds: Words
    totals: Words


def fold(sources: Longs, first: Words, second: Words, sizes: Longs) -> ChunkSums:
    """Sum up records by chunk: their source offsets, both halves of their digests, and their sizes."""
    import numpy as np

    places = sources.astype(np.uint64)
    one, two = hashed(places, first), hashed(places, second)
    chunks = sources >> CHUNK_BITS
    if len(chunks) and np.any(chunks[1:] < chunks[:-1]):
        order = np.argsort(chunks, kind="stable")
        chunks, one, two, sizes = chunks[order], one[order], two[order], sizes[order]
    starts = np.flatnonzero(np.append(True, chunks[1:] != chunks[:-1])) if len(chunks) else np.zeros(0, dtype=np.int64)
    ends = np.append(starts[1:], len(chunks))
    if not len(starts):
        empty = np.zeros(0, dtype=np.uint64)
        return ChunkSums(chunks, chunks, chunks, empty, empty, empty)
    return ChunkSums(
        chunks[starts],
        (ends - starts).astype(np.int64),
        np.add.reduceat(sizes.astype(np.int64), starts),
        np.bitwise_xor.reduceat(one, starts),
        np.bitwise_xor.reduceat(two, starts),
        np.add.reduceat(one, starts),
    )


def hashed(words: Words, seeds: Words) -> Words:
    """XXH64 of words of 64 bits, each under a seed of its own, as Spark's ``xxhash64`` takes in one more column."""
    import numpy as np

    found = seeds + np.uint64((_PRIME_5 + 8) & _WORD)
    found ^= _rolled(words * np.uint64(_PRIME_2), 31) * np.uint64(_PRIME_1)
    found = _rolled(found, 27) * np.uint64(_PRIME_1) + np.uint64(_PRIME_4)
    found ^= found >> np.uint64(33)
    found *= np.uint64(_PRIME_2)
    found ^= found >> np.uint64(29)
    found *= np.uint64(_PRIME_3)
    found ^= found >> np.uint64(32)
    return found


def _rolled(words: Words, bits: int) -> Words:
    import numpy as np

    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def differing(source: dict[int, Sum], *targets: dict[int, Sum]) -> list[int]:
    """The chunks, sorted, in which any of the targets' sums is not that of the source."""
    chunks = set(source).union(*targets)
    return sorted(
        chunk
        for chunk in chunks
        if not all(source.get(chunk, NOTHING).same(target.get(chunk, NOTHING)) for target in targets)
    )
