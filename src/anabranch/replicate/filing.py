"""Filing, about once a second, how far the lanes of a lease have come: runs first, then progress.

Progress is filed of the lanes that changed, and of the others in turn: at least one each time, for that an owner is
heard of is what tells others that it lives.  What somebody else has overwritten is filed again.

Whatever is filed is an index and a report, never the truth: that is the data on the target and the claims.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.lanes.endings import Ending
from anabranch.model.clock import now_ms
from anabranch.model.lane import KNOWN_S, LaneKey, LaneProgress, LaneState
from anabranch.offsets.runs import Run
from anabranch.replicate.control import Progress, Runs
from anabranch.replicate.gate import Gate
from anabranch.replicate.jumper import Jumper
from anabranch.replicate.keeper import Keeper
from anabranch.replicate.lane import Lane, Phase
from anabranch.replicate.runs import RunBook
from anabranch.replicate.strangers import with_stranger

OURS = {Phase.RUNNING, Phase.STOPPED}
"""Phases in which a lane that was won has runs to file and a claim to give back."""

UNANSWERED = "the source does not answer"

ROUNDS = 12
"""Rounds, a second each, within which every lane is filed, changed or not: in less than ``LANE_PATIENCE_S``."""


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
        self._turn = 0
        self._marks: dict[Lane, tuple[object, ...] | None] = {}

    async def file(self) -> None:
        """Store runs, then progress: progress never tells of records whose runs are not filed."""
        if not self._gate.is_fresh:
            return  # a process that was stopped and goes on must not file its old runs over its successor's
        now = time.monotonic()
        segments: dict[tuple[LaneKey, int], tuple[Run, ...]] = {}
        mine = [lane for lane in self._lanes if lane.phase is not Phase.OVER and not self._is_anothers(lane)]
        filing: list[tuple[RunBook, int]] = []
        for lane in mine:
            lane.tally.measure(now)
            if lane.phase in OURS and (unfiled := lane.book.unfiled()):
                filing.append((lane.book, unfiled[0][0]))
                lane.book.filed()
                for number, runs in unfiled:
                    segments[(lane.assignment.lane, number)] = runs
        reports = self._news(mine)
        known = {lane: lane.known_to() for lane in mine}
        try:
            if segments:
                await self._runs.file(segments)
            if reports:
                await self._progress.file(reports)
            for lane, told in known.items():
                lane.target_epoch = told  # of a lane that runs no longer it is filed still
            await self._jumper.forget(mine, self._check_filed)
        except BaseException as error:  # a lane that is let go may be cancelled in here, and has filed for all of them
            for book, number in filing:
                book.refile(number)
            self._marks = {}
            if not isinstance(error, AnabranchError) or not passing(error):
                raise

    def _news(self, lanes: Sequence[Lane]) -> list[LaneProgress]:
        """What is to be filed now of lanes that are this owner's to tell of."""
        share = -(-len(lanes) // ROUNDS)
        first, self._turn = self._turn % max(1, len(lanes)), self._turn + share
        due = {(first + at) % len(lanes) for at in range(share)}
        others = self._progress.overwritten(self._owner)
        before, self._marks = self._marks, {lane: self._mark(lane) for lane in lanes}
        return [
            self.report(lane)
            for at, (lane, mark) in enumerate(self._marks.items())
            if at in due or mark is None or before.get(lane) != mark or (others and lane.assignment.lane in others)
        ]

    def _mark(self, lane: Lane) -> tuple[object, ...] | None:
        """What a report is made of, but for what cannot change alone; None where it changes with the time."""
        if lane.queue:
            return None
        source, tally = lane.source, lane.tally
        return (
            lane.phase,
            lane.position,
            lane.fetch_at,
            lane.target_end,
            lane.known_to(),
            source.log_start,
            source.stable,
            source.high_watermark,
            tally.records,
            tally.bytes_per_s,
            lane.mode,
            lane.mode_reason,
            lane.stranger,
            lane.held_by,
            lane.waiting,
            source.doubt,
            lane.stopped,
            self._gate.paused,
            lane.drained,
            lane.source_silence() > KNOWN_S,
        )

    async def _check_filed(self) -> set[str]:
        """File again what somebody else has overwritten, and return those lanes: a request of an earlier owner may be
        carried out late, and once jumps are forgotten the filed runs are what tells."""
        await self._runs.sync()
        overwritten: set[str] = set()
        for lane in self._lanes:
            if lane.phase is not Phase.RUNNING:
                continue  # what is news of it stays so until it runs
            key = lane.assignment.lane
            for number in self._runs.news(key):
                if not lane.book.is_as_filed(number, self._runs.segments[key].get(number, ())):
                    lane.book.refile(number)
                    overwritten.add(lane.key)
        return overwritten

    def _is_anothers(self, lane: Lane) -> bool:
        if lane.phase is not Phase.TAKING:
            return False
        lost = lane.ended is not None and lane.ended.reason in {Ending.FENCED, Ending.SUPERSEDED}
        return lost or self._keeper.is_anothers(lane)

    def report(self, lane: Lane) -> LaneProgress:
        """Where a lane stands now."""
        source = lane.source
        silence = lane.source_silence()
        seen_ms = now_ms() - round(silence * 1000) if source.seen_at else None
        is_known = seen_ms is not None and silence <= KNOWN_S
        behind = max(0, source.stable - lane.reached)
        mean = lane.tally.bytes / lane.tally.records if lane.tally.records else 0.0
        lag_seconds: float | None = 0.0 if is_known else None
        if behind:
            lag_seconds = None
            if lane.queue:
                lag_seconds = max(0.0, now_ms() / 1000 - lane.queue[0].header.max_timestamp / 1000)
        state = lane.state(self._gate.paused)
        reason = lane.stopped.message if state is LaneState.STOPPED and lane.stopped else None
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
            records_per_s=round(lane.tally.records_per_s, 1),
            bytes_per_s=round(lane.tally.bytes_per_s, 1),
            lag_bytes=round(behind * mean) if is_known else None,
            lag_seconds=lag_seconds,
            owner=self._owner,
            updated_at_ms=now_ms(),
            stop_reason=reason,
            stop_offset=lane.stopped.offset if state is LaneState.STOPPED and lane.stopped else None,
            source_epoch=lane.note_epoch(),
            source_seen_ms=seen_ms,
            target_epoch=lane.known_to(),
        )
