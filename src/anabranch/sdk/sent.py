"""How many bytes a producer has sent on all clusters where it was, by its library's own statistics.

They are made at intervals, and not message by message.  They come where the application has asked for them by
``statistics.interval.ms``: the library keeps all of them for its next ``poll``, however long that does not come.

Invariants
    B1  the application's ``stats_cb`` is called as by the client alone: of a client that was left it hears no more.
    B2  a client that was left counts by statistics of after the last message that it sent, or by those that it has
        told when they are overdue.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.model.clock import monotonic

_INTERVAL, _STATISTICS = "statistics.interval.ms", "stats_cb"
_ERROR, _THROTTLE = "error_cb", "throttle_cb"
_OVERDUE_S = 2.0


class Life:
    """What one client of confluent-kafka tells, from its configuration on; ``callbacks`` belong into that.

    ``failed`` is told of errors of which the application wants to hear.
    """

    def __init__(self, given: Mapping[str, Any], interval_s: float, failed: Callable[[Any], None]) -> None:
        self._interval_s, self._own = interval_s, given.get(_STATISTICS)
        self._began = monotonic()
        self._left = self._until = 0.0
        self._text = ""
        self._read: tuple[str, int, float] = "", 0, 0.0
        self.callbacks: dict[str, Any] = {}
        if callable(given.get(_ERROR)):
            self.callbacks[_ERROR] = self._unless_left(failed, given[_ERROR])
        self.has_statistics = bool(interval_s) and (self._own is None or callable(self._own))
        if self.has_statistics:
            self.callbacks[_STATISTICS] = self._told
            if callable(given.get(_THROTTLE)):
                self.callbacks[_THROTTLE] = self._unless_left(given[_THROTTLE])

    def _told(self, text: str) -> None:
        """Statistics; they are read when somebody asks for figures."""
        self._text = text
        if self._own is not None and not self._left:
            self._own(text)

    def _unless_left(self, *callbacks: Callable[..., Any]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            for callback in () if self._left else callbacks:
                callback(*args)

        return call

    def leave(self) -> None:
        """All that it was to send is sent."""
        self._left = monotonic()
        self._until = self._left + self._interval_s + _OVERDUE_S

    @property
    def bytes(self) -> int:
        """As it has told last."""
        return self._latest()[0]

    @property
    def is_over(self) -> bool:
        """Whether it has told all, by its age then: what it tells may have waited to be heard; or is overdue."""
        return self._began + self._latest()[1] >= self._left or monotonic() >= self._until

    def _latest(self) -> tuple[int, float]:
        text = self._text
        if text != self._read[0]:
            found = json.loads(text)
            self._read = text, int(found["txmsg_bytes"]), found["age"] / 1e6
        return self._read[1:]


class Sent:
    """By all clients of one producer, which calls all but ``look`` under its lock."""

    def __init__(self, given: Mapping[str, Any], failed: Callable[[Any], None]) -> None:
        self._given, self._interval_s, self._failed = given, _interval_s(given), failed
        self._done = 0
        self._life: Life | None = None
        self._left: list[tuple[Any, Life]] = []

    def another(self) -> Life:
        """What is to hear another client, which is still to be made."""
        return Life(self._given, self._interval_s, self._failed)

    def goes_on(self, former: Any, life: Life) -> None:
        """It is made, and the one of before left, which stays until it has told its last."""
        if self._life is not None and self._life.has_statistics:
            self._life.leave()
            self._left.append((former, self._life))
        self._life = life

    @property
    def waits(self) -> bool:
        """Whether a client that was left has still to tell its last."""
        return bool(self._left)

    def look(self) -> None:
        """Let those that were left tell it, and be gone; nothing that they were handed is outstanding."""
        for one in list(self._left):
            one[0].poll(0)
            if one[1].is_over:
                self._left.remove(one)
                self._done += one[1].bytes

    def end(self) -> None:
        """Nobody asks any more."""
        self._left.clear()

    @property
    def bytes(self) -> int:
        """Of keys and values, of each message as often as it was sent."""
        now = 0 if self._life is None else self._life.bytes
        return self._done + now + sum(life.bytes for _, life in self._left)


def _interval_s(given: Mapping[str, Any]) -> float:
    """0 where there is none; the library refuses what is no number."""
    with contextlib.suppress(ValueError, TypeError):
        return max(0, int(given.get(_INTERVAL, 0))) / 1000
    return 0.0
