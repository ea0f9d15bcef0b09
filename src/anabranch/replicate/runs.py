"""The runs of one lane while it is being copied, and what of them must be filed.

Runs are an index of the target's log, not the truth (LANE protocol, section 3, step 7): they are filed behind
the data, at most two seconds, and completed from the log's headers by the next owner.  Old runs are sealed in
segments that are never written again, so filing costs the same however long the lane grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.offsets.runs import Run

SEGMENT_RUNS = 1000


class RunBook:
    """All runs of a lane, in order, with the first segment that was changed since it was last filed."""

    __slots__ = ("_dirty_from", "_runs")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs: list[Run] = []
        for run in runs:
            self.append(run)
        self._dirty_from: int | None = None

    @classmethod
    def of_segments(cls, segments: Mapping[int, tuple[Run, ...]]) -> RunBook:
        """The book that was filed as numbered segments."""
        return cls(run for number in sorted(segments) for run in segments[number])

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs so far, neighbours joined."""
        return tuple(self._runs)

    @property
    def last(self) -> Run | None:
        """The newest run."""
        return self._runs[-1] if self._runs else None

    def append(self, run: Run) -> None:
        """Add what was appended next; joined with the run before where both sides go on without a gap."""
        last = self._runs[-1] if self._runs else None
        if last is not None:
            if run.source < last.source + last.length or run.target < last.target + last.length:
                raise ValueError(f"{run} does not come after {last}")
            if run.source - last.source == last.length and run.target - last.target == last.length:
                self._runs[-1] = Run(last.source, last.target, last.length + run.length)
                self._touch(len(self._runs) - 1)
                return
        self._runs.append(run)
        self._touch(len(self._runs) - 1)

    def cut(self, target_end: int) -> None:
        """Forget what lies at or above a target offset: the target's log was truncated there."""
        while self._runs and self._runs[-1].target >= target_end:
            self._runs.pop()
            self._touch(len(self._runs))
        if self._runs and (last := self._runs[-1]).target + last.length > target_end:
            self._runs[-1] = Run(last.source, last.target, target_end - last.target)
            self._touch(len(self._runs) - 1)

    def unfiled(self) -> list[tuple[int, tuple[Run, ...]]]:
        """The segments that changed since ``filed`` was last called, with their numbers."""
        if self._dirty_from is None:
            return []
        first = self._dirty_from // SEGMENT_RUNS
        last = max(0, len(self._runs) - 1) // SEGMENT_RUNS
        return [
            (number, tuple(self._runs[number * SEGMENT_RUNS : (number + 1) * SEGMENT_RUNS]))
            for number in range(first, max(first, last) + 1)
        ]

    def filed(self) -> None:
        """Say that ``unfiled`` is being written; what is appended from now on is filed the next time."""
        self._dirty_from = None

    def refile(self, segment: int) -> None:
        """Say that writing failed: from this segment on all is to be filed again."""
        self._touch(segment * SEGMENT_RUNS)

    def _touch(self, index: int) -> None:
        self._dirty_from = index if self._dirty_from is None else min(self._dirty_from, index)
