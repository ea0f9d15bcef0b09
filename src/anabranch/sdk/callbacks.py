"""Callbacks of an application, in which calls of its consumer leave no cluster.

A callback runs in the middle of a call of confluent-kafka's consumer, which must not be closed there.  Nor may another
thread close it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_NAMES = ("error_cb", "stats_cb", "throttle_cb")


class Callbacks:
    """Those of one consumer; it does not keep the consumer alive."""

    def __init__(self) -> None:
        self._running: list[object] = []

    @property
    def are_running(self) -> bool:
        """Whether one runs, in whichever thread."""
        return bool(self._running)

    def guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """A callback that is known to run while it does."""

        def call(*args: Any) -> Any:
            token = object()
            self._running.append(token)
            try:
                return callback(*args)
            finally:
                self._running.remove(token)

        return call

    def configured(
        self, given: Mapping[str, Any], noted: Callable[[list[Any]], None], failed: Callable[[Any], None]
    ) -> dict[str, Any]:
        """The callbacks of a configuration, guarded; ``noted`` is told of commits that nobody waited for, too.

        ``failed`` is told of those that failed, and of errors of which the application wants to hear.
        """
        own = given.get("on_commit")

        def committed(error: Any, partitions: list[Any]) -> None:
            if error is None:
                noted(partitions)
            else:
                failed(error)
            if own is not None:
                own(error, partitions)

        def erred(error: Any) -> None:
            failed(error)
            given["error_cb"](error)

        found = {name: self.guarded(given[name]) for name in _NAMES if callable(given.get(name))}
        if "error_cb" in found:
            found["error_cb"] = self.guarded(erred)
        return {**found, "on_commit": self.guarded(committed)}
