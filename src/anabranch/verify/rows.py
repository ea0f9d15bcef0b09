"""The records that are not where the map says, as columns: what ``classify`` and ``compaction`` work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Digests = NDArray[np.void]

HALVES = 2
PARTS = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of one side of a lane, sorted by ``offsets``; all columns have one length.

    ``mapped`` are the offsets on the other side that the map gives, -1 where it gives none (a gap, or foreign).
    ``digests`` are of shape (n, 2): 128 bits of all that must be kept.  ``parts`` are of shape (n, 4): a digest each
    of key, value and headers, and the timestamp.  ``excused`` tells which the other side's log cleaner may have taken.
    """

    offsets: Longs
    mapped: Longs
    digests: Longs
    parts: Longs
    excused: Flags

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, which: Any) -> Rows:
        """Some of them, by a mask or by indices."""
        return Rows(
            self.offsets[which], self.mapped[which], self.digests[which], self.parts[which], self.excused[which]
        )

    @property
    def keys(self) -> Digests:
        """The digests as one value each, to be compared and sorted whole."""
        import numpy as np

        return np.ascontiguousarray(self.digests).view(np.dtype((np.void, 16))).reshape(-1)


def rows(offsets: Any, mapped: Any, digests: Any, parts: Any = None, excused: Any = None) -> Rows:
    """Build rows of anything like arrays, sorted by offset; absent parts are all equal, absent excuses are none."""
    import numpy as np

    there = np.asarray(offsets, dtype=np.int64).reshape(-1)
    count = len(there)
    order = np.argsort(there, kind="stable")
    return Rows(
        there[order],
        np.asarray(mapped, dtype=np.int64).reshape(-1)[order],
        np.asarray(digests, dtype=np.int64).reshape(count, HALVES)[order],
        (np.zeros((count, PARTS), dtype=np.int64) if parts is None else np.asarray(parts, dtype=np.int64))[order],
        (np.zeros(count, dtype=bool) if excused is None else np.asarray(excused, dtype=bool))[order],
    )
