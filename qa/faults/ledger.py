"""What producers know of a log that is cleaned behind them: every record that it ever held, by its offset."""

from __future__ import annotations

import threading
from collections import defaultdict

Place = tuple[str, int]


class Ledger:
    """Digests of delivered records; written by the producers' threads, read when they are done.

    ``at`` has those whose offset the broker told.  A repeat that the broker recognised long after may be answered
    without an offset: such records are in ``somewhere``.
    """

    def __init__(self) -> None:
        self.at: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        self.somewhere: defaultdict[Place, set[bytes]] = defaultdict(set)
        self._lock = threading.Lock()

    def note(self, place: Place, offset: int, digest: bytes) -> None:
        """Enter a record that was delivered; a negative offset is an unknown one."""
        with self._lock:
            if offset < 0:
                self.somewhere[place].add(digest)
            else:
                self.at[place][offset] = digest

    def held(self, place: Place, offset: int, digest: bytes) -> bool:
        """Whether the log held this very record at this offset, as far as can be told."""
        known = self.at[place].get(offset)
        return known == digest if known is not None else digest in self.somewhere[place]
