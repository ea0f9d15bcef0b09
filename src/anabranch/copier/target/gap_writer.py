"""Writing gap records ahead, and forgetting those that filed runs have made superfluous.

The gap records of all lanes that wait are appended together, one batch at a time, while earlier batches of those lanes
are on their way: a lane waits for the journal only if it has nothing else to send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from anabranch.copier.lane.fetched import PendingGapRecord
from anabranch.copier.lane.lane import Lane, Phase
from anabranch.copier.lane.ownership import Ownership
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, TenureEnded
from anabranch.protocol.holes import Jump, JumpKey
from anabranch.protocol.tenure import Tenure
from anabranch.state.topics.journal import Journal, Jumps

MAX_BATCH = 200
MAX_STRETCHES = 40_000
FORGET_S = 10.0


class GapWriter:
    """The gap records of one worker's lanes on their way into the journal."""

    def __init__(
        self,
        jumps: Jumps,
        journal: Journal,
        on_good: Callable[[Iterable[Lane]], None],
        on_ended: Callable[[], None],
    ) -> None:
        self._jumps = jumps
        self._journal = journal
        self._on_good = on_good
        self._on_ended = on_ended
        self._pending: list[tuple[Lane, Ownership, Jump, PendingGapRecord]] = []
        self._wake = asyncio.Event()
        self._seen: dict[str, tuple[Tenure, int]] = {}
        self._looked_at = time.monotonic()

    def submit(self, lane: Lane, ownership: Ownership, record: Jump, pending: PendingGapRecord) -> None:
        """Write a gap record; ``pending`` is good once it is acknowledged; where that stays unknown the tenure ends."""
        ownership.pipeline.intend()
        self._pending.append((lane, ownership, record, pending))
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

    def _cut(self) -> list[tuple[Lane, Ownership, Jump, PendingGapRecord]]:
        # One of a tenure that is over must not go out: a gap record before it may have been lost.
        self._pending = [one for one in self._pending if one[0].ownership is one[1]]
        taken, size = 0, 0
        for _, _, record, _ in self._pending[:MAX_BATCH]:
            size += len(record.stretches)
            if taken and size > MAX_STRETCHES:
                break
            taken += 1
        batch, self._pending = self._pending[:taken], self._pending[taken:]
        return batch

    async def _append(self, batch: list[tuple[Lane, Ownership, Jump, PendingGapRecord]]) -> None:
        why = "it is not known whether a jump was written"
        try:
            good = await self._jumps.append([record for _, _, record, _ in batch])
        except AnabranchError as error:
            good, why = False, error.message
        for lane, ownership, record, pending in batch:
            if lane.ownership is not ownership:
                continue
            if good:
                ownership.pipeline.permit(record)
                pending.good = True
            elif lane.end_tenure(ownership, TenureEnded(lane.key, Ending.JOURNAL, None, why)):
                self._on_ended()
        if good:
            self._on_good([lane for lane, _, _, _ in batch])

    async def forget(self, lanes: Iterable[Lane], check_filed: Callable[[], Awaitable[set[str]]]) -> None:
        """Forget, from time to time, gap records whose records' runs have been filed since the last time.

        Called right after runs were filed; ``check_filed`` sees to it that they are still there and tells of which
        lanes it files them again: those are left alone.  Of other owners only those are touched that claimed before
        this one did, for a later one may be alive.  Raises ClusterError.
        """
        now = time.monotonic()
        lanes = [lane for lane in lanes if lane.fetched.gap_records]
        if now - self._looked_at < FORGET_S or not (lanes or self._seen):
            return
        self._looked_at = now
        overwritten = await check_filed()
        before, self._seen = self._seen, {}
        for lane in lanes:
            if lane.phase is not Phase.RUNNING or lane.ownership is None or not lane.fetched.gap_records:
                continue
            if lane.key in overwritten:
                continue
            tenure, pipeline = lane.ownership.tenure, lane.ownership.pipeline
            if pipeline.position > tenure.position:  # acknowledged: no later owner had the lane by then
                self._seen[lane.key] = (tenure, pipeline.acknowledged_sequence)
        if not before:
            return
        known = await self._jumps.read()
        gone: list[JumpKey] = []
        for key, (tenure, sequence) in before.items():
            if self._seen.get(key, (None, 0))[0] is not tenure:
                continue
            gone += [jump.key for jump in known.passed(key, tenure.producer_id, sequence)]
            for one in known.producer_ids(key):
                placed = self._journal.claims.get(key, one)
                if one != tenure.producer_id and placed is not None and placed.offset < tenure.claim_offset:
                    gone += [jump.key for jump in known.passed(key, one)]
        if gone:
            await self._jumps.forget(gone)
