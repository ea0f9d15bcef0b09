"""How much a lane has copied, ever and lately."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.offsets.offset_map import OffsetMap

LEAST_RATE = 1.0
"""Bytes a second below which a lane that copies nothing is said to stand still."""


@dataclass(slots=True)
class Tally:
    """What was copied, ever and lately; rates are smoothed over some seconds.

    ``counted_to`` is the source offset below which ``records`` counts all that was copied.  ``latency_ms`` is of the
    last second in which something was copied, None where nothing was lately: how old, by its own timestamp, the newest
    record of a batch was as the target acknowledged it, of the batch for which that was longest.
    """

    records: int = 0
    bytes: int = 0
    counted_to: int = 0
    records_per_s: float = 0.0
    bytes_per_s: float = 0.0
    latency_ms: int | None = None
    _oldest_ms: int | None = None
    _seen: tuple[int, int, float] = (0, 0, 0.0)

    def note_age(self, ms: int) -> None:
        """The newest record of a batch was so old when it was acknowledged; below 0 where clocks differ."""
        self._oldest_ms = max(0, ms, self._oldest_ms or 0)

    def measure(self, now: float) -> None:
        """Take the rates and the latency again; called about once a second."""
        records, size, before = self._seen
        if before and now > before:
            weight = min(1.0, (now - before) / 3)
            self.records_per_s += weight * ((self.records - records) / (now - before) - self.records_per_s)
            self.bytes_per_s += weight * ((self.bytes - size) / (now - before) - self.bytes_per_s)
            if self.records == records and self.bytes_per_s < LEAST_RATE:
                self.records_per_s = self.bytes_per_s = 0.0  # what fades away for ever would be news for ever
                self.latency_ms = None
        if self._oldest_ms is not None:
            self.latency_ms, self._oldest_ms = self._oldest_ms, None
        self._seen = (self.records, self.bytes, now)

    def add_found(self, ranges: OffsetMap) -> None:
        """Count what of these ranges was copied and not counted: by an owner that was killed before it persisted that.

        Its bytes are an estimate, from the mean size of what was counted.
        """
        last = ranges.last
        if last is None or last.source_end <= self.counted_to:
            return
        indexes = range(max(0, ranges.find_source(self.counted_to)), len(ranges))
        found = sum(max(0, ranges[at].source_end - max(ranges[at].source, self.counted_to)) for at in indexes)
        size = round(found * self.bytes / self.records) if self.records else 0
        records, before, at = self._seen
        self._seen = (records + found, before + size, at)  # it is no rate of now
        self.records, self.bytes, self.counted_to = self.records + found, self.bytes + size, last.source_end
