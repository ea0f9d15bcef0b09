"""Persisting, about once a second, how far the lanes of a worker have come: ranges first, then progress.

Segments that tell of nothing which either log still holds are persisted as empty, ``MOST_RETIRED`` at a time
(:mod:`anabranch.state.segments.retiring`).

Whatever is persisted is an index and a report, never the truth: that is the data on the target and the claims.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from anabranch.copier.lane.lane import OWNED, Lane, LanePhase
from anabranch.copier.reporting.report import report
from anabranch.copier.reporting.schedule import ReportSchedule
from anabranch.copier.write_gate import WriteGate
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress
from anabranch.offsets.offset_map import MappedRange
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import MappedRanges, Progress

STEP_LANES = 25
"""Lanes of which the reports are made before others may run; those of one lane and its ranges are of one moment."""
CHECK_S = 10.0
"""Seconds between two looks at what earlier owners' requests may have overwritten, carried out late."""
MOST_RETIRED = 200
"""Segments that are retired in one write of progress: what a week has left takes some hours and delays nothing."""

Forget = Callable[[Iterable[Lane], Callable[[], Awaitable[frozenset[str]]]], Awaitable[None]]


class ProgressWriter:
    """Persists ranges and progress of the lanes of one worker, ``owner``.

    ``is_anothers`` says of a lane that is being taken over whether somebody else tells of it; ``forget`` forgets gap
    records behind ranges, given what checks that those are there.
    """

    def __init__(
        self,
        owner: str,
        lanes: Sequence[Lane],
        ranges: MappedRanges,
        progress: Progress,
        is_anothers: Callable[[Lane], bool],
        forget: Forget,
        gate: WriteGate,
    ) -> None:
        self._owner = owner
        self._lanes = lanes
        self._ranges = ranges
        self._progress = progress
        self._is_anothers = is_anothers
        self._forget = forget
        self._gate = gate
        self._schedule = ReportSchedule(owner, progress)
        self._overwritten: set[str] = set()
        """Lanes of which segments are to be persisted again."""
        self._lost: set[Lane] = set()
        """Lanes of which a later owner has persisted.  A process that was stopped for less than the gate holds may read
        that before it reads the claims, and would take away what its own map lacks."""
        self._checked_at = time.monotonic()

    async def persist(self, *, everything: bool = False) -> None:
        """Store ranges, then progress: progress never tells of records whose ranges are not persisted.

        With ``everything`` nothing waits for a later round.
        """
        if not self._gate.is_fresh:
            return  # a process that was stopped and goes on must not persist its old ranges over its successor's
        now = time.monotonic()
        self._schedule.begin_round(everything)
        mine = [lane for lane in self._lanes if self._is_mine(lane)]
        for lane in mine:
            lane.copied.tally.measure(now)
        due = self._schedule.due(mine, self._gate.paused)
        settled = self._schedule.is_settled
        segments: dict[tuple[LaneKey, int], tuple[MappedRange, ...] | bytes] = {}
        persisting: list[tuple[OffsetMapIndex, int]] = []
        at_ms = now_ms()
        reports: list[LaneProgress] = []
        known: dict[Lane, tuple[int, int] | None] = {}
        try:
            if self._schedule.is_overwritten or now - self._checked_at >= CHECK_S:
                self._checked_at = now
                await self._check_persisted()
                if not self._gate.is_fresh:
                    self._schedule.forget()
                    return
            self._lost = {lane for lane in self._lost if self._ranges.is_later_owners(lane.assignment.lane)}
            if self._lost:
                mine = [lane for lane in mine if lane not in self._lost]
                due = [lane for lane in due if lane not in self._lost]
            # Gap records are forgotten behind ranges, so those of lanes that have some are persisted each time before.
            chosen = set(due)
            others = [
                lane
                for lane in mine
                if lane not in chosen and settled and (lane.fetched.gap_records or lane.key in self._overwritten)
            ]
            for at, lane in enumerate((*due, *others)):
                if at and at % STEP_LANES == 0:
                    await asyncio.sleep(0)
                book = lane.copied.book
                if lane.phase in OWNED and (unpersisted := book.unpersisted()):
                    persisting.append((book, unpersisted[0][0]))
                    book.persisted()
                    for number, ranges in unpersisted:
                        segments[(lane.assignment.lane, number)] = ranges
                if at < len(due):
                    reports.append(self.report(lane, at_ms))
                    known[lane] = lane.known_to()
            retired = self._retire(due, segments)
            reports.sort(key=lambda one: one.lane)  # neighbours share the most bytes when they are compressed
            if segments:
                await self._ranges.persist(segments)
            self._overwritten -= {lane.key for lane in (*due, *others)}
            for key, until in retired.items():
                self._ranges.retired(key, until)
            if reports:
                await self._progress.persist(reports)
            for lane, told in known.items():
                lane.copied.target_epoch = told  # of a lane that runs no longer it is persisted still
            if settled:
                await self._forget(mine, self._check_persisted)
        except (
            BaseException
        ) as error:  # a lane that is let go may be cancelled in here, and has persisted for all of them
            for book, number in persisting:
                book.persist_again(number)
            self._schedule.forget()
            if not isinstance(error, AnabranchError) or not passing(error):
                raise

    async def persist_last(self) -> None:
        """Persist everything, and once more what earlier owners' late requests have overwritten: nobody is there later
        to look.  What passes by itself is not raised: then it is left as it is."""
        await self.persist(everything=True)
        try:
            if self._gate.is_fresh and await self._check_persisted():
                await self.persist(everything=True)
        except AnabranchError as error:
            if not passing(error):
                raise

    def report(self, lane: Lane, at_ms: int | None = None) -> LaneProgress:
        """Where a lane stands now."""
        return report(lane, self._owner, self._gate.paused, now_ms() if at_ms is None else at_ms)

    def _is_mine(self, lane: Lane) -> bool:
        if lane.phase is LanePhase.TAKING:
            return not self._is_anothers(lane)
        return lane.phase is not LanePhase.OVER and not lane.is_doubted

    def _retire(
        self, lanes: Sequence[Lane], segments: dict[tuple[LaneKey, int], tuple[MappedRange, ...] | bytes]
    ) -> dict[LaneKey, int]:
        """Have segments persisted as empty of which both logs have deleted all; returns up to where, by lane."""
        retired: dict[LaneKey, int] = {}
        left = MOST_RETIRED
        for lane in lanes:
            if left and (starts := lane.starts) is not None:
                key = lane.assignment.lane
                numbers = self._ranges.retirable(key, starts, lane.copied.book)[:left]
                if numbers:
                    segments |= {(key, number): () for number in numbers}
                    retired[key] = numbers.stop
                    left -= len(numbers)
        return retired

    async def _check_persisted(self) -> frozenset[str]:
        """Have what somebody else has overwritten persisted again; returns the lanes of which that is still to be done.

        A request of an earlier owner may be carried out late.  What was persisted of an identity lane tells of no
        owner, so that readers take the last of it, and once gap records are forgotten it is what tells of a mapped one.
        What tells more of an identity lane than is known here stays: this may be the earlier owner.
        """
        await self._ranges.sync()
        for lane in self._lanes:
            if lane.phase is not LanePhase.RUNNING:
                continue  # what is news of it stays so until it runs
            key, book = lane.assignment.lane, lane.copied.book
            if self._ranges.has_news(key) and self._ranges.is_later_owners(key):
                self._lost.add(lane)
                continue  # these are news for its next takeover here
            for number, stored in self._ranges.news(key).items():
                if book.is_as_persisted(number, stored):
                    continue  # nearly always: what this worker has written itself is read back
                if not (lane.status.mode is LaneMode.IDENTITY and book.is_within(number, stored)):
                    book.persist_again(number)
                    self._overwritten.add(lane.key)
        return frozenset(self._overwritten)
