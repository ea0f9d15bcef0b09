"""What delivery reports tell beside the application: each message that was not delivered.

A report is looked at only where the application takes one; what becomes of a message without is not known here.

Invariants
    D1  a callback is called as the application gave it, once, with what confluent-kafka tells.
    D2  nothing here keeps its client alive.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

Report = Callable[[Any, Any], Any]


class Reports:
    """``last`` is the callback that was taken last, and what stands in its place: most messages have the same one."""

    __slots__ = ("_client", "last")

    def __init__(self, client: Callable[[], Any]) -> None:
        """``client`` is a weak reference to whom ``undelivered`` is told."""
        self._client = client
        self.last: list[tuple[Any, Report]] = [(None, _none)]

    def of(self, callback: Any) -> Any:
        """What stands in the place of a callback; None for none."""
        if callback is None:
            return None
        known, report = self.last[0]
        # A method that is looked up again is another object, and the same method.
        if callback is known or (callback.__class__ is MethodType and callback == known):
            return report
        return self.taken(callback)

    def taken(self, callback: Any) -> Report:
        """What stands in the place of a callback that was not the last one."""
        client = self._client

        def report(error: Any, message: Any) -> None:
            if error is not None:
                one = client()
                if one is not None:
                    one.undelivered(error, message)
            callback(error, message)

        self.last[0] = callback, report
        return report


def size_of(value: Any) -> int:
    """The bytes of a value, as it is sent."""
    return 0 if value is None else len(value.encode() if isinstance(value, str) else value)


def _none(*_: Any) -> None:
    raise AssertionError("no callback was taken yet")
