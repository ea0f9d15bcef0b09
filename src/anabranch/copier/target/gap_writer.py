"""Writing gap records ahead, and forgetting those that persisted ranges have made superfluous.

The gap records of all lanes that wait are appended together, one batch at a time, while earlier batches of those lanes
are on their way: a lane waits for the journal only if it has nothing else to send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.fetched import PendingGapRecord
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, OwnershipEnded
from anabranch.protocol.gap_records import GapRecord, GapRecordKey
from anabranch.protocol.ownership import Ownership
from anabranch.state.topics.journal import GapRecords, Journal

MAX_BATCH = 200
MAX_SPANS = 40_000
FORGET_S = 10.0


class GapWriter:
    """The gap records of one worker's lanes on their way into the journal."""

    def __init__(
        self,
        gap_records: GapRecords,
        journal: Journal,
        on_good: Callable[[Iterable[Lane]], None],
        on_ended: Callable[[], None],
    ) -> None:
        self._gap_records = gap_records
        self._journal = journal
        self._on_good = on_good
        self._on_ended = on_ended
        self._pending: list[tuple[Lane, ActiveOwnership, GapRecord, PendingGapRecord]] = []
        self._wake = asyncio.Event()
        self._seen: dict[str, tuple[Ownership, int]] = {}
        self._looked_at = time.monotonic()

    def submit(self, lane: Lane, active: ActiveOwnership, record: GapRecord, pending: PendingGapRecord) -> None:
        """Write a gap record; ``pending`` is good once it is acknowledged; where that stays unknown the ownership
        ends.
        """
        active.pipeline.intend()
        self._pending.append((lane, active, record, pending))
        self._wake.set()

    async def run(self) -> None:
        """Append what waits until cancelled."""
        self._looked_at = time.monotonic()  # not since it was made: its worker may wait for the target first
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                if batch := self._cut():
                    await self._append(batch)

    def _cut(self) -> list[tuple[Lane, ActiveOwnership, GapRecord, PendingGapRecord]]:
        # One of an ownership that is over must not go out: a gap record before it may have been lost.
        self._pending = [one for one in self._pending if one[0].active is one[1]]
        taken, size = 0, 0
        for _, _, record, _ in self._pending[:MAX_BATCH]:
            size += len(record.spans)
            if taken and size > MAX_SPANS:
                break
            taken += 1
        batch, self._pending = self._pending[:taken], self._pending[taken:]
        return batch

    async def _append(self, batch: list[tuple[Lane, ActiveOwnership, GapRecord, PendingGapRecord]]) -> None:
        why = "it is not known whether a gap record was written"
        try:
            good = await self._gap_records.append([record for _, _, record, _ in batch])
        except AnabranchError as error:
            good, why = False, error.message
        for lane, active, record, pending in batch:
            if lane.active is not active:
                continue
            if good:
                active.pipeline.permit(record)
                pending.good = True
            elif lane.end_ownership(active, OwnershipEnded(lane.key, Ending.JOURNAL, None, why)):
                self._on_ended()
        if good:
            self._on_good([lane for lane, _, _, _ in batch])

    async def forget(self, lanes: Iterable[Lane], check_persisted: Callable[[], Awaitable[frozenset[str]]]) -> None:
        """Forget, from time to time, gap records whose records' ranges have been persisted since the last time.

        Called right after ranges were persisted; ``check_persisted`` sees to it that they are still there and tells of
        which lanes it persists them again: those are left alone.  Of other owners only those are touched that claimed
        before this one did, for a later one may be alive.  Raises ClusterError.
        """
        now = time.monotonic()
        lanes = [lane for lane in lanes if lane.fetched.gap_records]
        if now - self._looked_at < FORGET_S or not (lanes or self._seen):
            return
        self._looked_at = now
        overwritten = await check_persisted()
        before, self._seen = self._seen, {}
        for lane in lanes:
            if lane.phase is not LanePhase.RUNNING or lane.active is None or not lane.fetched.gap_records:
                continue
            if lane.key in overwritten:
                continue
            ownership, pipeline = lane.active.ownership, lane.active.pipeline
            if pipeline.position > ownership.position:  # acknowledged: no later owner had the lane by then
                self._seen[lane.key] = (ownership, pipeline.acknowledged_sequence)
        if not before:
            return
        known = await self._gap_records.read()
        gone: list[GapRecordKey] = []
        for key, (ownership, sequence) in before.items():
            if self._seen.get(key, (None, 0))[0] is not ownership:
                continue
            gone += [gap_record.key for gap_record in known.passed(key, ownership.producer_id, sequence)]
            for one in known.producer_ids(key):
                placed = self._journal.claims.get(key, one)
                if one != ownership.producer_id and placed is not None and placed.offset < ownership.claim_offset:
                    gone += [gap_record.key for gap_record in known.passed(key, one)]
        if gone:
            await self._gap_records.forget(gone)
