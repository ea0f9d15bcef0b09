"""Keeping a lane that was won: over another connection, under a younger claim; and giving it back in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anabranch.copier.lane.lane import Lane, Phase
from anabranch.copier.lane.ownership import Ownership
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.target.partition import TargetPartition
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, LaneStopped, TenureEnded
from anabranch.protocol.takeover import release

LOOK_S = 0.005


class GoingOn:
    """What is done for a tenure that lasts; ``on_connected`` has its batches sent."""

    def __init__(self, access: TargetAccess, on_connected: Callable[[Lane, TargetPartition], None]) -> None:
        self._access = access
        self._on_connected = on_connected

    async def connect(self, lane: Lane, ownership: Ownership) -> None:
        """Go on with a tenure whose connection ended while nothing was in flight, if its leader is the same still."""
        if lane.ownership is not ownership:
            return  # it ended before this began
        try:
            target = await self._access.open(lane.assignment, lane.copied.position)
            if target.leader_epoch != ownership.tenure.leader_epoch:
                raise TenureEnded(lane.key, Ending.LEADER_EPOCH)
            await target.confirm()
            if target.connection.closed is not None:
                raise TenureEnded(lane.key, Ending.DISCONNECTED, None, target.connection.closed.reason)
        except TenureEnded as ended:
            lane.end_tenure(ownership, ended)
        except LaneStopped as stopped:
            lane.stop(stopped)
        except AnabranchError as error:
            lane.end_tenure(ownership, TenureEnded(lane.key, Ending.BROKER, None, error.message))
        else:
            if lane.ownership is ownership and lane.phase is Phase.RUNNING:
                ownership.pipeline.reconnected()
                ownership.connection = target.connection
                self._on_connected(lane, target)

    async def renew(self, lane: Lane, ownership: Ownership) -> None:
        """Give a lane back and end its tenure, so that it is claimed again before its claim is too old (A1).

        Nothing is sent meanwhile, and what is in flight is answered first: then nothing is in doubt, and the producer
        id is used again.
        """
        if lane.ownership is not ownership:
            return  # it ended before this began
        pipeline = ownership.pipeline
        ownership.is_renewing = True
        try:
            while lane.ownership is ownership and (pipeline.in_flight or ownership.is_checking):
                await asyncio.sleep(LOOK_S)
            if lane.ownership is not ownership:
                return
            try:
                await self.give_back(lane)
            finally:
                # Were it released a second time, that might land after the next claim and hide it.
                pipeline.fail(Ending.RENEWED)
                lane.end_tenure(ownership, TenureEnded(lane.key, Ending.RENEWED))
        finally:
            ownership.is_renewing = False

    async def give_back(self, lane: Lane) -> None:
        """After a clean lease: release the claim, and keep the producer id for the next one."""
        ownership = lane.ownership
        if ownership is None:
            return
        try:
            target = await self._access.open(lane.assignment, lane.copied.position)
            lane.reusable_producer = await target.drive(release(ownership.tenure, ownership.pipeline))
        except AnabranchError:
            lane.reusable_producer = None
