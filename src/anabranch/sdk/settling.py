"""How a group of the newer protocol (KIP-848) settles soon, once its members have gone over.

Its members hear what they are to have, and to give up, in answers to their heartbeats, which brokers have them send
every five seconds; of twenty that join at once the first has all partitions until its next one.  The client sends a
heartbeat at once where it is asked to subscribe.  So a member subscribes again, to the same, for some seconds: brokers
change nothing by that, and it waits for nothing longer than an eighth of the time since it has connected.

Invariants
    J1  what the application has taken back, or asked for otherwise, is not subscribed to again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.model.clock import monotonic

_SHORTEST_S, _PART, _SPAN_S = 0.1, 8, 15.0


class Settling:
    """Of one consumer; ``is_on`` while it has gone over some seconds ago at most."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._may = str(given.get("group.protocol", "")).lower() == "consumer"
        self._lock = threading.Lock()
        self._began = self._next = 0.0
        self.is_on = False

    def begin(self) -> None:
        """It has just connected, and subscribed."""
        if self._may:
            with self._lock:
                self._began, self.is_on = monotonic(), True
                self._next = self._began + _SHORTEST_S

    def end(self) -> None:
        """It subscribes to nothing again (J1): once this has returned none is on its way, either."""
        with self._lock:
            self.is_on = False

    def beat(self, subscribe: Callable[[], None]) -> bool:
        """Have it subscribe again where that is due; whether that was the last time."""
        with self._lock:
            now = monotonic()
            if not self.is_on or now < self._next:
                return False
            passed = now - self._began
            self._next = now + max(_SHORTEST_S, passed / _PART)
            self.is_on = passed < _SPAN_S
            subscribe()
            return not self.is_on
