"""Delivery reports of failures, counted where looking at them costs nothing: where the library gives out no others.

To look at each report takes a tenth of the calling thread's time of a producer that has one for each message.  With
``delivery.report.only.error`` confluent-kafka calls back for failures alone, so all of them are counted there, also
those of messages for which the application gives no callback.

Invariants
    D1  the application's callback is called as by the client alone: once, with the same, and where it would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_ONLY_FAILURES = "delivery.report.only.error"
_ALL = "on_delivery"
CALLBACKS = ("callback", _ALL)
"""What a message's own is called where it is given."""


class Reports:
    """Of one producer; ``failed`` is told of each message that was not delivered."""

    def __init__(self, given: Mapping[str, Any], failed: Callable[[Any], None]) -> None:
        self._own = given.get(_ALL)
        self._failed = failed
        self._last: tuple[Any, Any] = None, None
        are_failures = str(given.get(_ONLY_FAILURES, "")).lower() in ("true", "1")
        self.are_counted = are_failures and (self._own is None or callable(self._own))

    @property
    def callbacks(self) -> dict[str, Any]:
        """What belongs into a client's configuration: it has the reports of messages without a callback."""
        return {_ALL: self._told(self._own)} if self.are_counted else {}

    def told(self, callback: Any) -> Any:
        """What is to be called in place of a message's own callback; most messages have the same one."""
        if not self.are_counted or not callable(callback):
            return callback
        last, made = self._last
        if last is not callback:
            made = self._told(callback)
            self._last = callback, made
        return made

    def told_each(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with what is to be called in place of the callbacks in them."""
        return {name: self.told(one) if name in CALLBACKS else one for name, one in given.items()}

    def _told(self, callback: Any) -> Callable[[Any, Any], None]:
        failed = self._failed

        def told(error: Any, message: Any) -> None:
            if error is not None:
                failed(error)
            if callback is not None:
                callback(error, message)

        return told
