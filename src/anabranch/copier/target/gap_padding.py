"""Filling the offset gap before an identity lane's next batch, while other lanes of the connection go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.target.partition import TargetPartition
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded
from anabranch.protocol.gap_padding import OffsetGap, fill, gap_records_over


class GapPadding:
    """The gaps of one connection's lanes that are being filled."""

    def __init__(
        self,
        may_write: Callable[[], bool],
        on_ended: Callable[[Lane, ActiveOwnership, OwnershipEnded], None],
        on_filled: Callable[[], None],
    ) -> None:
        self._may_write = may_write
        self._on_ended = on_ended
        self._on_filled = on_filled
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, lane: Lane, active: ActiveOwnership, target: TargetPartition, gap: OffsetGap) -> None:
        """Fill the gap before a lane's next batch; the lane waits for it, or turns mapped where it takes too long."""
        try:
            lane.keep_identity(active, gap)
        except OwnershipEnded as ended:
            self._on_ended(lane, active, ended)
            return
        active.is_checking = True
        task = asyncio.create_task(self._fill(lane, active, target, gap), name=f"fill-{lane.key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Nothing is filled any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _fill(self, lane: Lane, active: ActiveOwnership, target: TargetPartition, gap: OffsetGap) -> None:
        ownership = active.ownership
        records = gap_records_over(ownership, gap, lane.fetched.gap_records > 0)
        try:
            await target.drive(fill(ownership, gap, records), self._may_write)
        except OwnershipEnded as ended:
            self._on_ended(lane, active, ended)
        except LaneStopped as stopped:
            if lane.active is active:
                lane.stop(stopped)
        except AnabranchError as error:
            self._on_ended(lane, active, OwnershipEnded(lane.key, Ending.BROKER, None, error.message))
        else:
            if lane.active is active and lane.phase is LanePhase.RUNNING:
                lane.filled(gap)
        finally:
            active.is_checking = False
            self._on_filled()
