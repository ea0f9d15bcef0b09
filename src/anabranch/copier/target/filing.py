"""Filing, about once a second, how far the lanes of a lease have come: runs first, then progress.

Progress is filed at once of lanes whose state or reason changed.  Where only offsets and counts did it is filed each
second while the target's links have up to ``MANY`` lanes.  With more, as everybody reads what everybody files, lanes
wait for their turn: a share of them every ``STRIDE`` rounds, for few records together compress badly, and all of them
within ``SPACING``.  The lanes that stand still are filed in turn, too: at least one each time, for that an owner is
heard of is what tells others that it lives.  What somebody else has overwritten is filed again.

Segments that tell of nothing which either log still holds are filed as empty, ``MOST_RETIRED`` at a time
(:mod:`anabranch.state.segments.retiring`).

Whatever is filed is an index and a report, never the truth: that is the data on the target and the claims.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from anabranch.copier.lane import Lane, Phase
from anabranch.copier.ownership.keeper import Keeper
from anabranch.copier.target.gate import Gate
from anabranch.copier.target.jumper import Jumper
from anabranch.copier.target.strangers import with_stranger
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.clock import now_ms
from anabranch.model.lane import KNOWN_S, LaneKey, LaneProgress, LaneState
from anabranch.offsets.runs import Run
from anabranch.protocol.endings import Ending
from anabranch.state.segments.runs import RunBook
from anabranch.state.topics.control import Progress, Runs

OURS = {Phase.RUNNING, Phase.STOPPED}
"""Phases in which a lane that was won has runs to file and a claim to give back."""

UNANSWERED = "the source does not answer"

ROUNDS = 12
"""Rounds, a second each, within which every lane is filed, changed or not: in less than ``LANE_PATIENCE_S``."""

MANY = 625
SPACING = 8
"""The most rounds for which changed offsets and counts wait: within ``KNOWN_S``, for which a lag counts as known."""
STEP_LANES = 25
"""Lanes of which the reports are made before others may run; those of one lane and its runs are of one moment."""
STRIDE = 2
"""Rounds between two times that something is filed of thousands of lanes: within ``PATIENCE_S`` of a handover."""

MOST_RETIRED = 200
"""Segments that are retired in one filing: what a week has left takes some hours and delays nothing."""


class _Mark(NamedTuple):
    """What a report is made of, but for what cannot change alone; ``figures`` None: they change with the time."""

    state: tuple[object, ...]
    figures: tuple[object, ...] | None


class Filing:
    """What is filed of the lanes of one lease."""

    def __init__(
        self,
        owner: str,
        lanes: Sequence[Lane],
        runs: Runs,
        progress: Progress,
        keeper: Keeper,
        jumper: Jumper,
        gate: Gate,
    ) -> None:
        self._owner = owner
        self._lanes = lanes
        self._runs = runs
        self._progress = progress
        self._keeper = keeper
        self._jumper = jumper
        self._gate = gate
        self._turn = self._round = 0
        self._marks: dict[Lane, _Mark] = {}

    async def file(self, *, everything: bool = False) -> None:
        """Store runs, then progress: progress never tells of records whose runs are not filed.

        With ``everything`` nothing waits for a later round.
        """
        if not self._gate.is_fresh:
            return  # a process that was stopped and goes on must not file its old runs over its successor's
        now = time.monotonic()
        self._round += 1
        spacing = 1 if everything else self._spacing()
        mine = [lane for lane in self._lanes if lane.phase is not Phase.OVER and not self._is_anothers(lane)]
        for lane in mine:
            lane.tally.measure(now)
        due = self._due(mine, spacing)
        settled = self._round % spacing == 0
        segments: dict[tuple[LaneKey, int], tuple[Run, ...] | bytes] = {}
        filing: list[tuple[RunBook, int]] = []
        at_ms = now_ms()
        reports: list[LaneProgress] = []
        known: dict[Lane, tuple[int, int] | None] = {}
        # Jumps are forgotten behind runs, so those of lanes that have some are filed each time before.
        chosen = set(due)
        others = [lane for lane in mine if settled and lane.jumps and lane not in chosen]
        try:
            for at, lane in enumerate((*due, *others)):
                if at and at % STEP_LANES == 0:
                    await asyncio.sleep(0)
                if lane.phase in OURS and (unfiled := lane.book.unfiled()):
                    filing.append((lane.book, unfiled[0][0]))
                    lane.book.filed()
                    for number, runs in unfiled:
                        segments[(lane.assignment.lane, number)] = runs
                if at < len(due):
                    reports.append(self.report(lane, at_ms))
                    known[lane] = lane.known_to()
            retired = self._retire(due, segments)
            reports.sort(key=lambda one: one.lane)  # neighbours share the most bytes when they are compressed
            if segments:
                await self._runs.file(segments)
            for key, until in retired.items():
                self._runs.retired(key, until)
            if reports:
                await self._progress.file(reports)
            for lane, told in known.items():
                lane.target_epoch = told  # of a lane that runs no longer it is filed still
            if settled:
                await self._jumper.forget(mine, self._check_filed)
        except BaseException as error:  # a lane that is let go may be cancelled in here, and has filed for all of them
            for book, number in filing:
                book.refile(number)
            self._marks = {}
            if not isinstance(error, AnabranchError) or not passing(error):
                raise

    def _retire(
        self, lanes: Sequence[Lane], segments: dict[tuple[LaneKey, int], tuple[Run, ...] | bytes]
    ) -> dict[LaneKey, int]:
        """Have segments filed as empty of which both logs have deleted all; returns up to where, by lane."""
        retired: dict[LaneKey, int] = {}
        left = MOST_RETIRED
        for lane in lanes:
            if left and (starts := lane.starts) is not None:
                key = lane.assignment.lane
                numbers = self._runs.retirable(key, starts, lane.book)[:left]
                if numbers:
                    segments |= {(key, number): () for number in numbers}
                    retired[key] = numbers.stop
                    left -= len(numbers)
        return retired

    def _spacing(self) -> int:
        """After how many rounds changed offsets and counts are filed."""
        wanted = min(SPACING, -(-len(self._progress.lanes) // MANY))
        return 1 if wanted <= 1 else -(-wanted // STRIDE) * STRIDE

    def _due(self, lanes: Sequence[Lane], spacing: int) -> list[Lane]:
        """The lanes whose progress is to be filed now, of those that are this owner's to tell of."""
        share = -(-len(lanes) // ROUNDS)
        first, self._turn = self._turn % max(1, len(lanes)), self._turn + share
        in_turn = {(first + at) % len(lanes) for at in range(share)}
        others = self._progress.overwritten(self._owner)
        before, self._marks = self._marks, {}
        due, later = [], []
        is_turn, shares = spacing == 1 or self._round % STRIDE == 0, max(1, spacing // STRIDE)
        for at, lane in enumerate(lanes):
            mark = self._mark(lane)
            told = before.get(lane, mark)
            changed = mark.figures is None or told.figures != mark.figures
            if (
                lane not in before
                or told.state != mark.state
                or (is_turn and changed and (at + self._round // STRIDE) % shares == 0)
                or (not changed and at in in_turn)
                or (others and lane.assignment.lane in others)
            ):
                due.append(lane)
                self._marks[lane] = mark
            else:
                later.append(lane)
                self._marks[lane] = told
        if is_turn and not due and later:  # of an owner something is heard each round
            due.append(later[first % len(later)])
        return due

    def _mark(self, lane: Lane) -> _Mark:
        source, tally = lane.source, lane.tally
        state = (
            lane.phase,
            lane.mode,
            lane.mode_reason,
            lane.stranger,
            lane.held_by,
            lane.waiting,
            lane.source.doubt,
            lane.stopped,
            self._gate.paused,
            lane.source_silence() > KNOWN_S,
        )
        figures = (
            lane.position,
            lane.fetch_at,
            lane.target_end,
            lane.known_to(),
            source.log_start,
            source.stable,
            source.high_watermark,
            tally.records,
            tally.bytes_per_s,
            lane.drained,
        )
        return _Mark(state, None if lane.queue else figures)

    async def _check_filed(self) -> set[str]:
        """File again what somebody else has overwritten, and return those lanes: a request of an earlier owner may be
        carried out late, and once jumps are forgotten the filed runs are what tells."""
        await self._runs.sync()
        overwritten: set[str] = set()
        for lane in self._lanes:
            if lane.phase is not Phase.RUNNING:
                continue  # what is news of it stays so until it runs
            key = lane.assignment.lane
            for number, stored in self._runs.news(key).items():
                if not lane.book.is_as_filed(number, stored):
                    lane.book.refile(number)
                    overwritten.add(lane.key)
        return overwritten

    def _is_anothers(self, lane: Lane) -> bool:
        if lane.phase is not Phase.TAKING:
            return False
        lost = lane.ended is not None and lane.ended.reason in {Ending.FENCED, Ending.SUPERSEDED}
        return lost or self._keeper.is_anothers(lane)

    def report(self, lane: Lane, at_ms: int | None = None) -> LaneProgress:
        """Where a lane stands now; what is an estimate has few digits, for it is filed again and again."""
        at_ms = now_ms() if at_ms is None else at_ms
        source = lane.source
        silence = lane.source_silence()
        seen_ms = at_ms - round(silence * 1000) if source.seen_at else None
        is_known = seen_ms is not None and silence <= KNOWN_S
        behind = max(0, source.stable - lane.reached)
        mean = lane.tally.bytes / lane.tally.records if lane.tally.records else 0.0
        lag_bytes = None
        if is_known and (mean or not behind):  # before anything was copied nobody knows how large records are
            lag_bytes = round(_rough(behind * mean))
        lag_seconds: float | None = 0.0 if is_known else None
        if behind:
            lag_seconds = None
            if lane.queue:
                lag_seconds = max(0.0, at_ms / 1000 - lane.queue[0].header.max_timestamp / 1000)
        state = lane.state(self._gate.paused)
        reason = lane.stopped.why if state is LaneState.STOPPED and lane.stopped else None
        if state is LaneState.WAITING:
            reason = lane.held_by or lane.waiting or None
        if silence > KNOWN_S and state in {LaneState.WAITING, LaneState.UNREACHABLE}:
            silent = source.doubt or UNANSWERED
            reason = f"{reason}; {silent}" if reason else silent
        return LaneProgress(
            lane=lane.assignment.lane,
            source=lane.assignment.source,
            target=lane.assignment.target,
            state=state,
            mode=lane.mode,
            mode_reason=with_stranger(lane.mode_reason, lane.stranger),
            position=lane.reached,
            log_start=source.log_start,
            stable=source.stable,
            high_watermark=source.high_watermark,
            target_end=lane.target_end,
            records=lane.tally.records,
            bytes=lane.tally.bytes,
            records_per_s=_rough(lane.tally.records_per_s),
            bytes_per_s=_rough(lane.tally.bytes_per_s),
            lag_bytes=lag_bytes,
            lag_seconds=None if lag_seconds is None else round(lag_seconds, 2),
            owner=self._owner,
            updated_at_ms=at_ms,
            stop_reason=reason,
            stop_offset=lane.stopped.offset if state is LaneState.STOPPED and lane.stopped else None,
            source_epoch=lane.note_epoch(),
            source_seen_ms=seen_ms,
            target_epoch=lane.known_to(),
        )


def _rough(number: float) -> float:
    """A number to three digits; one place behind the point at most."""
    return round(float(f"{number:.3g}"), 1)
