"""The lanes that are to be taken over or gone on with: some at a time, each again after a while where it failed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.lane_takeover import LaneTakeover
from anabranch.copier.ownership.map_completion import MapCompletion
from anabranch.copier.ownership.other_owners import OtherOwners
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.ownership.upkeep import OwnershipUpkeep
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.offsets.errors import RangeOrderError
from anabranch.protocol.claims import ClaimState
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import GapRecords, Journal

AT_ONCE = 16
PILE = 20
_TELL_THEIR_OFFSET = {Stop.POSITION_LOST, Stop.DIVERGED, Stop.SOURCE_TRUNCATED, Stop.CLAIMS_LOST}


@dataclass(slots=True)
class _Retry:
    failures: int = 0
    at: float = 0.0
    won_at: int = -1

    def later(self, longest: float) -> None:
        self.failures += 1
        self.at = time.monotonic() + min(longest, 0.05 * 2 ** min(self.failures, 10)) * random.uniform(0.5, 1.0)


class TakeoverManager:
    """Takes over whatever lane is in phase TAKING, some at a time, until cancelled; no lane has two tasks at once."""

    def __init__(self, others: OtherOwners, takeover: LaneTakeover, upkeep: OwnershipUpkeep, journal: Journal) -> None:
        self._others = others
        self._takeover = takeover
        self._upkeep = upkeep
        self._journal = journal
        self._retries: dict[str, _Retry] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Some lane must be taken over."""
        self._wake.set()

    async def run(self, lanes: Sequence[Lane], may_take: Callable[[], bool]) -> None:
        """Take lanes over while ``may_take`` says so."""
        try:
            while True:
                self._wake.clear()
                if may_take():
                    self._start(lanes)
                try:
                    async with asyncio.timeout(0.05 if self._tasks else 0.2):
                        await self._wake.wait()
                except TimeoutError:
                    pass
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._tasks.clear()

    async def forgo(self, lane: Lane) -> None:
        """A lane was left: nothing of a takeover is under way when this returns, or a claim that comes late would end
        the ownership of whoever has the lane by then."""
        task = self._tasks.get(lane.key)
        if task is not None and not task.done():
            del self._tasks[lane.key]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def give_back(self, lane: Lane) -> None:
        """After a clean lease: release the claim, and keep the producer id for the next one."""
        await self._upkeep.give_back(lane)

    def _start(self, lanes: Sequence[Lane]) -> None:
        for key, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[key]
                task.result()
        now = time.monotonic()
        for lane in lanes:
            if len(self._tasks) >= AT_ONCE:
                return
            if lane.key in self._tasks:
                continue
            active = lane.active
            if lane.phase is LanePhase.RUNNING and active is not None:
                if active.connection is None and lane.fetched.batches:
                    self._begin(lane, "connect", self._upkeep.connect(lane, active))
                elif active.pipeline.is_aging():
                    self._begin(lane, "renew", self._upkeep.renew(lane, active))
            if lane.phase is not LanePhase.TAKING:
                continue
            if self._retries.setdefault(lane.key, _Retry()).at > now or self._others.is_anothers(lane):
                continue
            self._begin(lane, "take", self._take(lane))

    def _begin(self, lane: Lane, what: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[lane.key] = asyncio.create_task(work, name=f"{what}-{lane.key}")

    async def _take(self, lane: Lane) -> None:
        retry, copied, status = self._retries[lane.key], lane.copied, lane.status
        try:
            await self._takeover.take(lane)
        except OwnershipEnded as ended:
            lane.ended = ended
            if ended.mapped_because:
                lane.mapped_because = ended.mapped_because
            if ended.reason is Ending.UNKNOWN_PARTITION:
                status.waiting = ended.why
            if ended.reason is not Ending.NOT_IDENTITY:
                retry.later(self._longest_wait(lane))
        except LaneStopped as stopped:
            # A takeover knows the lane's start only; how far the lane came is known here, unless that is in doubt.
            if stopped.offset < copied.position and stopped.reason not in _TELL_THEIR_OFFSET:
                stopped = replace(stopped, offset=copied.position)
            lane.stop(stopped)
        except PermissionDeniedError as error:
            lane.stop_at(Stop.NOT_ALLOWED, copied.position, error.message, error.hint)
        except RangeOrderError as error:
            status.waiting = f"what is persisted of its offset map contradicts itself: {error.message}"
            retry.later(self._longest_wait(lane))
        except AnabranchError as error:
            status.waiting = error.message
            retry.later(self._longest_wait(lane))
        else:
            status.waiting = ""
            if copied.position == retry.won_at:
                # The ownership before this one copied nothing: should this one end, wait before the next.
                retry.later(self._longest_wait(lane))
            else:
                retry.failures, retry.won_at = 0, copied.position

    def _longest_wait(self, lane: Lane) -> float:
        """Each claim that is not released costs every later owner a marker: where they pile up, wait longer."""
        standing = sum(one.claim.state is ClaimState.CLAIMED for one in self._journal.claims.claims(lane.key))
        return 2.0 if standing < PILE else 30.0


def takeover_manager(
    owner: str,
    source: Cluster,
    target: Cluster,
    journal: Journal,
    gap_records: GapRecords,
    progress: Progress,
    ranges: MappedRanges,
    on_taken: Callable[[Lane, TargetPartition], None],
    gate: WriteGate,
) -> TakeoverManager:
    """The takeover manager of one worker, with its parts."""
    access = TargetAccess(target, journal, gap_records, ranges)
    completion = MapCompletion(target, journal, gap_records, ranges, gate)
    takeover = LaneTakeover(owner, source, access, completion, journal, progress, ranges, gate, on_taken)
    return TakeoverManager(OtherOwners(owner, journal, progress), takeover, OwnershipUpkeep(access, on_taken), journal)
