"""Who is inside a call of another client, counted without a lock in the way of those calls.

Invariants
    G1  a call counts as inside from before it looks where to go until it has handed over.
    G2  where ``is_empty`` after the way was taken away, no call that had found the way is on it, and none will be.

Both counts are of C and step in one go, so that threads need no lock; looking at one steps it, too, which is taken off.
"""

from __future__ import annotations

import threading
import time
from itertools import count

from anabranch.model.clock import monotonic

_LOOK_S = 0.0002


class Gate:
    """``enter`` before the way is looked up, ``leave`` once it is handed over, whatever came of it."""

    def __init__(self) -> None:
        self.enter = count().__next__
        self.leave = count().__next__
        self._looks = 0
        self._lock = threading.Lock()

    def is_empty(self) -> bool:
        """Whether at some moment of this call nobody was inside."""
        with self._lock:
            left = self.leave() - self._looks  # first: who enters after it only makes the gate look fuller
            entered = self.enter() - self._looks
            self._looks += 1
            return entered == left

    def await_empty(self, timeout_s: float) -> bool:
        """Whether it became so in that time; those inside are on their way out."""
        until = monotonic() + timeout_s
        while not self.is_empty():
            if monotonic() >= until:
                return False
            time.sleep(_LOOK_S)
        return True

    def passed(self) -> int:
        """How many have left."""
        with self._lock:
            left = self.leave() - self._looks
            self.enter()
            self._looks += 1
            return left
