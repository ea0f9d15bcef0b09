"""The runs of one lane while it is being copied, and what of them must be filed.

Runs are an index of the target's log, not the truth (LANE protocol, section 3, step 7): they are filed behind
the data, at most two seconds, and completed from the log's headers by the next owner.  Old runs are sealed in
segments that are never written again, so filing costs the same however long the lane grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping

from anabranch.offsets import codec
from anabranch.offsets.runs import Run, RunMap

SEGMENT_RUNS = 1000


def in_order(segments: Mapping[int, tuple[Run, ...]]) -> list[Run]:
    """The runs of numbered segments, one behind the other; nothing is checked."""
    return [run for number in sorted(segments) for run in segments[number]]


class Segments(MutableMapping[int, tuple[Run, ...]]):
    """The stored segments of a lane, by their numbers, kept as bytes: each worker has those of every lane.

    As runs they would take forty times as much memory.
    """

    __slots__ = ("_stored",)

    def __init__(self) -> None:
        self._stored: dict[int, bytes] = {}

    def __getitem__(self, number: int) -> tuple[Run, ...]:
        return tuple(codec.decode(self._stored[number]))

    def __setitem__(self, number: int, runs: tuple[Run, ...]) -> None:
        self._stored[number] = codec.encode(RunMap.of(runs))

    def __delitem__(self, number: int) -> None:
        del self._stored[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def keep(self, number: int, stored: bytes) -> None:
        """Take a segment's bytes, which were decoded without an error."""
        self._stored[number] = stored


class RunBook:
    """A lane's run map, with the first segment that was changed since it was last filed."""

    __slots__ = ("_dirty_from", "_top", "map")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self.map = RunMap.of(runs)
        self._dirty_from: int | None = None
        self._top = max(0, len(self.map) - 1) // SEGMENT_RUNS
        """The highest segment that may have been filed: a cut leaves empty ones below it, to be forgotten."""

    @classmethod
    def of_segments(cls, segments: Mapping[int, tuple[Run, ...]]) -> RunBook:
        """The book that was filed as numbered segments."""
        return cls(run for number in sorted(segments) for run in segments[number])

    @property
    def last(self) -> Run | None:
        """The newest run."""
        return self.map.last

    def append(self, run: Run) -> None:
        """Add what was appended next; raises RunOrderError."""
        self.map = self.map.append(run) if self.map.last is not None else RunMap.of([run])
        self._touch(len(self.map) - 1)

    def cut(self, target_end: int) -> None:
        """Forget what lies at or above a target offset: the target's log was truncated there."""
        if self.map.last is not None and self.map.last.target_end > target_end:
            self.map = self.map.truncate(target_end)
            self._touch(max(0, len(self.map) - 1))

    def unfiled(self) -> list[tuple[int, tuple[Run, ...]]]:
        """The segments that changed since ``filed`` was last called, with their numbers; empty ones are gone."""
        if self._dirty_from is None:
            return []
        self._top = max(self._top, max(0, len(self.map) - 1) // SEGMENT_RUNS)
        return [(number, self._segment(number)) for number in range(self._dirty_from // SEGMENT_RUNS, self._top + 1)]

    def filed(self) -> None:
        """Say that ``unfiled`` is being written; what is appended from now on is filed the next time."""
        self._dirty_from = None

    def is_as_filed(self, number: int, runs: tuple[Run, ...]) -> bool:
        """Whether a stored segment is what this book last filed, or will be filed anew soon in any case."""
        if self._dirty_from is not None and self._dirty_from // SEGMENT_RUNS <= number <= self._top:
            return True
        return self._segment(number) == runs

    def refile(self, segment: int) -> None:
        """Say that writing failed or was overwritten: from this segment on all is to be filed again."""
        self._top = max(self._top, segment)  # one above them all is stored as empty
        self._touch(segment * SEGMENT_RUNS)

    def _segment(self, number: int) -> tuple[Run, ...]:
        first = number * SEGMENT_RUNS
        return tuple(self.map[at] for at in range(first, min(first + SEGMENT_RUNS, len(self.map))))

    def _touch(self, index: int) -> None:
        self._dirty_from = index if self._dirty_from is None else min(self._dirty_from, index)
