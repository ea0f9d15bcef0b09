"""What a restart with only the servers changed would do: how many records the old offset would repeat or skip."""

from __future__ import annotations

from typing import NamedTuple

from anabranch.offsets.offset_map import OffsetMap


class ReadableRange(NamedTuple):
    """A target partition: its first offset, its last stable offset, and its high watermark."""

    start: int
    end: int
    high: int


class RestartEffect(NamedTuple):
    """Records that would be read again, and that would never be read; None where the job would not even start."""

    repeated: int | None
    skipped: int | None
    text: str = ""


def unmodified_restart(old: int, new: int, log: ReadableRange, ranges: OffsetMap | None = None) -> RestartEffect:
    """A reader that is at ``old`` where it should be at ``new``.

    Counted by the map's records where there is a map, so that markers and other writers' records do not count; past
    its end, and without one, by offsets.
    """
    if not log.start <= old <= log.high:
        side = "before" if old < log.start else "past"
        return RestartEffect(
            None,
            None,
            f"offset {old:,} is {side} the target's log, {log.start:,} to {log.high:,}: the job would fail, or go "
            "where its reset says",
        )
    if old <= new:
        return RestartEffect(copied(ranges, old, new), 0)
    return RestartEffect(0, copied(ranges, new, old))


def copied(ranges: OffsetMap | None, start: int, end: int) -> int:
    """How many records a map has in target offsets ``[start, end)``, with each offset past the map's end as one."""
    if start >= end:
        return 0
    if ranges is None:
        return end - start
    found = max(0, end - max(start, ranges.target_end))
    for at in range(max(0, ranges.find_target(start)), len(ranges)):
        run = ranges[at]
        if run.target >= end:
            break
        found += max(0, min(run.target_end, end) - max(run.target, start))
    return found
