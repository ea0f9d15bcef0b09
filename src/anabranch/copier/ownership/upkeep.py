"""Keeping a lane that was won: over another connection, under a younger claim; and giving it back in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.target.partition import TargetPartition
from anabranch.errors import AnabranchError
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded
from anabranch.protocol.takeover import release

LOOK_S = 0.005


class OwnershipUpkeep:
    """What is done for an ownership that lasts; ``on_connected`` has its batches sent."""

    def __init__(self, access: TargetAccess, on_connected: Callable[[Lane, TargetPartition], None]) -> None:
        self._access = access
        self._on_connected = on_connected

    async def connect(self, lane: Lane, active: ActiveOwnership) -> None:
        """Go on with an ownership whose connection ended while nothing was in flight, if its leader is the same
        still.
        """
        if lane.active is not active:
            return  # it ended before this began
        try:
            target = await self._access.open(lane.assignment, lane.copied.position)
            if target.leader_epoch != active.ownership.leader_epoch:
                raise OwnershipEnded(lane.key, Ending.LEADER_EPOCH)
            await target.confirm()
            if target.connection.closed is not None:
                raise OwnershipEnded(lane.key, Ending.DISCONNECTED, None, target.connection.closed.reason)
        except OwnershipEnded as ended:
            lane.end_ownership(active, ended)
        except LaneStopped as stopped:
            lane.stop(stopped)
        except AnabranchError as error:
            lane.end_ownership(active, OwnershipEnded(lane.key, Ending.BROKER, None, error.message))
        else:
            if lane.active is active and lane.phase is LanePhase.RUNNING:
                active.pipeline.reconnected()
                active.connection = target.connection
                self._on_connected(lane, target)

    async def renew(self, lane: Lane, active: ActiveOwnership) -> None:
        """Give a lane back and end its ownership, so that it is claimed again before its claim is too old (A1).

        Nothing is sent meanwhile, and what is in flight is answered first: then nothing is in doubt, and the producer
        id is used again.
        """
        if lane.active is not active:
            return  # it ended before this began
        pipeline = active.pipeline
        active.is_renewing = True
        try:
            while lane.active is active and (pipeline.in_flight or active.is_checking):
                await asyncio.sleep(LOOK_S)
            if lane.active is not active:
                return
            try:
                await self.give_back(lane)
            finally:
                # Were it released a second time, that might land after the next claim and hide it.
                pipeline.fail(Ending.RENEWED)
                lane.end_ownership(active, OwnershipEnded(lane.key, Ending.RENEWED))
        finally:
            active.is_renewing = False

    async def give_back(self, lane: Lane) -> None:
        """After a clean lease: release the claim, and keep the producer id for the next one."""
        active = lane.active
        if active is None:
            return
        try:
            target = await self._access.open(lane.assignment, lane.copied.position)
            lane.reusable_producer = await target.drive(release(active.ownership, active.pipeline))
        except AnabranchError:
            lane.reusable_producer = None
