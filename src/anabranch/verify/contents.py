"""The records of stored batches as columns, so that batches that were cut otherwise can be held against each other.

Only what a batch decides is decoded: how long each record is, its offset and its time.  All else, from the key on, is
the same bytes in whichever batch a record is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from anabranch.records.compression import expand
from anabranch.records.errors import CorruptBatchError
from anabranch.records.header import BatchHeader
from anabranch.records.varint import INT_BITS, LONG_BITS, read_rest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

MOST_BYTES = 256 << 20
"""What batches may expand to, all together: more is left to who reads one after the other."""
_WORD_BYTES = 10
"""A number takes at most so many."""


class WholeBatch(NamedTuple):
    """A batch as it is stored: its header, and the bytes behind it."""

    header: BatchHeader
    section: bytes


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records in a row: their times, and where each one's bytes from the key on begin in ``bodies``, and the last ends.

    Invariant: two records are given alike to a consumer, offsets aside, if their times and those bytes are equal.
    """

    times: Longs
    begins: Longs
    bodies: bytes

    def same(self, mine: slice, other: RecordColumns, theirs: slice) -> bool:
        """Whether some records of both are equal, one by one."""
        import numpy as np

        if not np.array_equal(self.times[mine], other.times[theirs]):
            return False
        begins, others = (one.begins[which.start : which.stop + 1] for one, which in ((self, mine), (other, theirs)))
        if not np.array_equal(begins - begins[0], others - others[0]):
            return False
        return self.bodies[begins[0] : begins[-1]] == other.bodies[others[0] : others[-1]]


def contents(batches: Sequence[WholeBatch]) -> RecordColumns:
    """The records of dense batches whose times are the producers', one batch after the other.

    Raises CorruptBatchError where bytes contradict themselves, offsets do not follow each other, or it is too much.
    """
    import numpy as np

    data, sizes, ends = _bounds(batches)
    whole = np.frombuffer(data, dtype=np.uint8)
    counts = np.array([one.header.count for one in batches], dtype=np.int64)
    stops = np.array(ends, dtype=np.int64) + np.repeat(np.cumsum(sizes) - sizes, counts)
    _, at = _numbers(whole, np.append(0, stops[:-1]), INT_BITS)  # how long it is
    deltas, at = _numbers(whole, at + 1, LONG_BITS)  # past the record's attributes
    offsets, at = _numbers(whole, at, INT_BITS)
    expected = np.arange(len(ends)) - np.repeat(np.cumsum(counts) - counts, counts)
    wrong = (offsets != expected) | (at > stops)
    if wrong.any():
        number = int(np.repeat(np.arange(len(batches)), counts)[np.argmax(wrong)])
        raise CorruptBatchError(batches[number].header.base_offset, "a record is not where it should be")
    bases = np.array([one.header.base_timestamp for one in batches], dtype=np.int64)
    times = np.repeat(bases, counts) + deltas
    bodies = b"".join([data[begin:end] for begin, end in zip(at.tolist(), stops.tolist(), strict=True)])
    return RecordColumns(times, np.append(0, np.cumsum(stops - at)), bodies)


def _bounds(batches: Sequence[WholeBatch]) -> tuple[bytes, list[int], list[int]]:
    """All records expanded with room behind, how many bytes each batch has, and where in its batch each record ends."""
    sections: list[bytes] = []
    ends: list[int] = []
    append, left = ends.append, MOST_BYTES
    for header, section in batches:
        try:
            body = expand(header.codec, section, max(left, 1))
            left -= len(body)
            if left < 0:
                raise ValueError(f"more than {MOST_BYTES:,} bytes at once")
            at = 0
            for _ in range(header.count):
                number = body[at]
                at += 1
                if number > 0x7F:  # of two bytes in line: most are, and a call would double the time
                    more = body[at]
                    if more > 0x7F:
                        number, at = read_rest(body, at, number, INT_BITS)
                    else:
                        number = more << 7 | number & 0x7F
                        at += 1
                if number & 1:
                    raise ValueError("a record of less than no bytes")
                at += number >> 1
                append(at)
        except (ValueError, IndexError) as error:
            raise CorruptBatchError(header.base_offset, str(error)) from error
        if at != len(body):
            raise CorruptBatchError(header.base_offset, "its records do not fill it")
        sections.append(body)
    return b"".join([*sections, bytes(_WORD_BYTES)]), [len(one) for one in sections], ends


def _numbers(whole: NDArray[np.uint8], at: Longs, bits: int) -> tuple[Longs, Longs]:
    """Signed numbers of at most so many bits that begin at some places, and where each ends.

    One that does not fit ends behind all there is, so what follows it is not where it should be.
    """
    import numpy as np

    behind = len(whole)
    byte = whole[np.minimum(at, behind - 1)]
    found = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    more = np.flatnonzero(byte > 0x7F)
    shift = 7
    while len(more) and shift < bits:
        byte = whole[np.minimum(after[more], behind - 1)]
        found[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[more] += 1
        after[more[(byte & 0x7F) >> min(bits - shift, 7) > 0]] = behind
        more = more[byte > 0x7F]
        shift += 7
    after[more] = behind
    return (found >> np.uint64(1)).astype(np.int64) ^ -(found & np.uint64(1)).astype(np.int64), after
