"""Which records a log cleaner may have taken, so that their absence on a compacted side is no fault.

A record that is absent from a compacted log is excused if and only if it has a key (a broker takes no others for a
compacted topic), and

1. the compacted side still has a later record of that key: the cleaner keeps only the newest; or
2. either side still has a tombstone of that key which is later, or the record is one itself: a tombstone makes the
   cleaner take what is older, and goes itself after ``delete.retention.ms``.

"Later" is by source offset.  Records after the pins count, since the cleaner may have gone further than the pins.  On
the target only the lane's own records count, and of the source's tombstones those that were copied
(``anabranch.verify.past``): a cleaner that took a copy for another producer's record has lost its value.
What this cannot see: a record that was lost by a fault and that the cleaner might as well have taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]


def excused(offsets: Longs, has_key: Flags, newest_here: Longs, newest_tombstone: Longs) -> Any:
    """Which absent records are excused, one boolean for each.

    ``offsets`` are source offsets; ``newest_here`` is that of the newest record of the same key on the compacted
    side, ``newest_tombstone`` that of the newest tombstone of the key on either side, the record itself included;
    -1 for none.  A record without a place in the source (offset -1) is never excused.
    """
    return has_key & (offsets >= 0) & ((newest_here > offsets) | (newest_tombstone >= offsets))
