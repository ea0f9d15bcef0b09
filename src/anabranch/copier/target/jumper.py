"""Writing jumps ahead, and forgetting those that filed runs have made superfluous.

The jumps of all lanes that wait are appended together, one batch at a time, while earlier batches of those lanes are
on their way: a lane waits for the journal only if it has nothing else to send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from anabranch.copier.lane import Lane, Phase, Ticket
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, TenureEnded
from anabranch.protocol.holes import Jump, JumpKey
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tenure import Tenure
from anabranch.state.topics.journal import Journal, Jumps

MAX_BATCH = 200
MAX_STRETCHES = 40_000
FORGET_S = 10.0


class Jumper:
    """The jumps of one worker's lanes on their way into the journal."""

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
        self._pending: list[tuple[Lane, Pipeline, Jump, Ticket]] = []
        self._wake = asyncio.Event()
        self._seen: dict[str, tuple[Tenure, int]] = {}
        self._looked_at = time.monotonic()

    def submit(self, lane: Lane, pipeline: Pipeline, jump: Jump, ticket: Ticket) -> None:
        """Write a jump; the ticket is good once it is acknowledged, and the tenure is over if that stays unknown."""
        pipeline.intend()
        self._pending.append((lane, pipeline, jump, ticket))
        self._wake.set()

    async def run(self) -> None:
        """Append what waits until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                if batch := self._cut():
                    await self._append(batch)

    def _cut(self) -> list[tuple[Lane, Pipeline, Jump, Ticket]]:
        # One of a tenure that is over must not go out: a jump before it may have been lost.
        self._pending = [one for one in self._pending if one[0].pipeline is one[1]]
        taken, size = 0, 0
        for _, _, jump, _ in self._pending[:MAX_BATCH]:
            size += len(jump.stretches)
            if taken and size > MAX_STRETCHES:
                break
            taken += 1
        batch, self._pending = self._pending[:taken], self._pending[taken:]
        return batch

    async def _append(self, batch: list[tuple[Lane, Pipeline, Jump, Ticket]]) -> None:
        why = "it is not known whether a jump was written"
        try:
            good = await self._jumps.append([jump for _, _, jump, _ in batch])
        except AnabranchError as error:
            good, why = False, error.message
        for lane, pipeline, jump, ticket in batch:
            if lane.pipeline is not pipeline:
                continue
            if good:
                pipeline.permit(jump)
                ticket.good = True
            elif lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.JOURNAL, None, why)):
                self._on_ended()
        if good:
            self._on_good([lane for lane, _, _, _ in batch])

    async def forget(self, lanes: Iterable[Lane], check_filed: Callable[[], Awaitable[set[str]]]) -> None:
        """Forget, from time to time, jumps whose records' runs have been filed since the last time.

        Called right after runs were filed; ``check_filed`` sees to it that they are still there and tells of which
        lanes it files them again: those are left alone.  Of other owners only those are touched that claimed before
        this one did, for a later one may be alive.  Raises ClusterError.
        """
        now = time.monotonic()
        lanes = [lane for lane in lanes if lane.jumps]
        if now - self._looked_at < FORGET_S or not (lanes or self._seen):
            return
        self._looked_at = now
        overwritten = await check_filed()
        before, self._seen = self._seen, {}
        for lane in lanes:
            if lane.phase is not Phase.RUNNING or lane.pipeline is None or lane.tenure is None or not lane.jumps:
                continue
            if lane.key in overwritten:
                continue
            if lane.pipeline.position > lane.tenure.position:  # acknowledged: no later owner had the lane by then
                self._seen[lane.key] = (lane.tenure, lane.pipeline.acknowledged_sequence)
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
