"""The Python processor of the queries with timers: a tally of each carrier's day, told when the day is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

DAY_MS = 86_400_000
OUTPUT = "carrier string, day_ms long, flights long, miles long"
STATE = "tally"


class DayTally(StatefulProcessor):  # type: ignore[misc]
    """Keyed by carrier and the day's first millisecond."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._tally = handle.getValueState(STATE, "flights long, miles long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        """Add them up; the timer is that of the key, set again each time."""
        flights, miles = self._tally.get() if self._tally.exists() else (0, 0)
        for row in rows:
            flights += 1
            miles += row.distance or 0
        self._tally.update((flights, miles))
        self._handle.registerTimer(key[1] + DAY_MS)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002
        """Tell, and forget."""
        flights, miles = self._tally.get()
        self._tally.clear()
        yield Row(carrier=key[0], day_ms=key[1], flights=flights, miles=miles)

    def close(self) -> None:
        """Nothing is held."""
