"""One attempt at a lane: resolve the start, take over, bring the offset map up to the log's tail, let batches flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.ownership.earlier_owners import fence_earlier_owners
from anabranch.copier.ownership.map_completion import MapCompletion
from anabranch.copier.ownership.source_history import SourceHistory
from anabranch.copier.ownership.start import mode_of, start_of
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.source.truncation_check import truncated
from anabranch.copier.target import head_padding
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import LATEST
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneMode, LaneProgress
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded
from anabranch.protocol.ownership import Ownership, Persisted, ReportedPosition, TakeoverRequest
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tail import GRANT
from anabranch.protocol.takeover import takeover
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import MappedRanges, Progress
from anabranch.state.topics.journal import Journal


@dataclass(slots=True)
class _Failed:
    """What attempts that failed leave for the next one: it finds a claim of this owner as the lane's last.

    ``is_stale``: an earlier owner may have persisted since.  ``book`` is of the ranges that were read again for an
    attempt.
    """

    is_stale: bool = False
    book: OffsetMapIndex | None = None


class LaneTakeover:
    """Takes lanes over, one attempt a call; ``on_taken`` has a lane's batches sent."""

    def __init__(
        self,
        owner: str,
        source: Cluster,
        access: TargetAccess,
        completion: MapCompletion,
        journal: Journal,
        progress: Progress,
        ranges: MappedRanges,
        gate: WriteGate,
        on_taken: Callable[[Lane, TargetPartition], None],
    ) -> None:
        self._owner = owner
        self._source = source
        self._access = access
        self._completion = completion
        self._journal = journal
        self._progress = progress
        self._ranges = ranges
        self._gate = gate
        self._on_taken = on_taken
        self._history = SourceHistory(source, progress)
        self._failed: dict[str, _Failed] = {}

    async def take(self, lane: Lane) -> None:
        """Take a lane over; raises OwnershipEnded, LaneStopped, RangeOrderError, UnknownSourceError, ClusterError."""
        claims, failed = self._journal.claims, self._failed.setdefault(lane.key, _Failed())
        start = await start_of(self._source, lane.assignment, claims)
        known_to = self._journal.claims.end
        others = await self._refresh_ranges(lane, failed.is_stale or lane.copied.is_map_incomplete)
        kept = await self._history.surviving(lane)
        await self._access.ask_rights()
        target = await self._access.open(lane.assignment, start)
        expiration = await self._access.expiration(target)
        claims, persisted = self._journal.claims, self._progress.lanes.into(lane.assignment.target)
        await target.drive(fence_earlier_owners(lane.assignment, lane.copied.position, claims, persisted, now_ms()))
        mode, why = await mode_of(self._source, self._access, lane, start, expiration, self._journal.claims)
        request = await self._bid(lane, start, mode, why, target.leader_epoch, expiration)
        lane.reusable_producer = None
        # Where this attempt fails after its claim, the next one finds its own last: what another persisted may be
        # missing.
        failed.is_stale = True
        try:
            target, ownership = await self._drive(lane, target, request)
        except LaneStopped:
            await self._check_map(lane)
            raise
        if request.mode is LaneMode.IDENTITY and ownership.mode is LaneMode.MAPPED:
            # Should this attempt end before the lane begins, the next one finds a mapped lane, and nothing of why.
            lane.mapped_because = ownership.why
        # Who was cut off, or was stopped, learns by its own claim that another had the lane since.
        others = others or not self._journal.claims.untouched_since(lane.key, known_to - 1, ownership.producer_id)
        if others:
            # They may have persisted ranges, and forgotten gap records behind them, until this takeover fenced them.
            await self._refresh_ranges(lane, others)
        if ownership.mode is LaneMode.MAPPED:  # identity owners share a claim, and none of them is the later one
            await self._check_latest(lane, ownership)
            self._ranges.claimed(lane.assignment.lane, ownership.claim_offset)
        await self._completion.complete(lane, ownership)
        lane.copied.tally.add_found(lane.copied.book.map)
        failed.is_stale, failed.book = False, None
        if kept is not None and kept < ownership.position:
            lane.copied.position = ownership.position
            raise truncated(lane.key, kept, ownership.position)
        self._history.note_passed(lane, ownership)
        await self._history.note(lane, ownership.position)
        if lane.phase is not LanePhase.TAKING:
            return
        if target.connection.closed is not None:
            raise OwnershipEnded(lane.key, Ending.DISCONNECTED, None, target.connection.closed.reason)
        lane.begin(ownership, Pipeline(ownership, sole_writer=False), target.connection)
        self._on_taken(lane, target)

    async def _check_map(self, lane: Lane) -> None:
        """Raise OwnershipEnded where the lane's map was persisted since it was read: another attempt reads it again.

        Until this takeover's claim fenced it, another owner went on: what its batches were held against may be what it
        has cut since, and no reason for a stop that only a person ends.
        """
        await self._ranges.sync()
        if self._ranges.has_news(lane.assignment.lane):
            raise OwnershipEnded(lane.key, Ending.MAP_IS_OLD)

    async def _check_latest(self, lane: Lane, ownership: Ownership) -> None:
        """Raise OwnershipEnded where another has claimed the lane since: what was read may be persisted by that one,
        and what this process knows of the log's end is older."""
        if self._ranges.epoch(lane.assignment.lane) > ownership.claim_offset:
            await self._journal.read()
        self._completion.check_owned(lane, ownership)

    async def _drive(
        self, lane: Lane, target: TargetPartition, request: TakeoverRequest
    ) -> tuple[TargetPartition, Ownership]:
        """Run the takeover, with the head of an identity lane's log padded in between where that is to be done."""
        ownership = await target.drive(takeover(request))
        while not ownership.is_padded:
            padding = await self._access.open(lane.assignment, request.start, head_padding.PURPOSE)
            ownership = await padding.drive(
                takeover(replace(request, leader_epoch=padding.leader_epoch, now_ms=now_ms()))
            )
            if not ownership.is_padded:
                await head_padding.pad(
                    padding, ownership, self._gate, lambda told: setattr(lane.status, "waiting", told)
                )
            target = await self._access.open(lane.assignment, request.start)
            ownership = await target.drive(
                takeover(replace(request, leader_epoch=target.leader_epoch, now_ms=now_ms()))
            )
        fixed = self._journal.claims.fixed(lane.key)
        if fixed is not None and fixed.pads:
            await head_padding.cut(target, fixed.start)
        return target, ownership

    async def _refresh_ranges(self, lane: Lane, others: bool = False) -> bool:
        """Take the ranges that another owner has persisted since, if one had the lane; gap records that those cover may
        be
        forgotten.  Returns whether one had it."""
        claims = self._journal.claims.claims(lane.key)
        others = others or (bool(claims) and claims[-1].claim.owner != self._owner)
        if others:
            await self._ranges.sync()
            failed, copied = self._failed[lane.key], lane.copied
            if copied.book is not failed.book or self._ranges.has_news(lane.assignment.lane):
                copied.book = failed.book = await self._ranges.whole_book(lane.assignment.lane)
                copied.is_map_incomplete = False
        return others

    async def _bid(
        self, lane: Lane, start: int, mode: LaneMode, why: str, leader_epoch: int, expiration: int
    ) -> TakeoverRequest:
        told, reusable = self._told(lane), lane.reusable_producer
        if reusable is not None and reusable.transactional_id is None and self._access.by_coordinator:
            reusable = None  # nobody who comes later could fence it
        return TakeoverRequest(
            lane=lane.key,
            owner=self._owner,
            mode=mode,
            start=start,
            leader_epoch=leader_epoch,
            expiration_ms=expiration,
            now_ms=now_ms(),
            persisted=_persisted(lane, told),
            reusable=reusable,
            why=why,
            expiration_known=self._access.expiration_ms is not None,
            longest_expiration_ms=self._access.longest_expiration_ms,
            reported=None if told is None else ReportedPosition(told.position, told.target_end),
            source_end=await self._source_end(lane, start, told),
            begun_at=lane.assignment.begun_at,
            claims_deleted=self._journal.is_shortened,
        )

    def _told(self, lane: Lane) -> LaneProgress | None:
        """What was persisted last of how far the lane came; None where it had not begun."""
        persisted = self._progress.lanes.get(lane.assignment.lane)
        return (
            persisted
            if persisted is not None and (persisted.position or persisted.records or persisted.target_end)
            else None
        )

    async def _source_end(self, lane: Lane, start: int, told: LaneProgress | None) -> int | None:
        """The end of the source's log, asked for where sequences alone may not tell where the lane is in it."""
        last = lane.copied.book.last
        reached = max(0 if last is None else last.source_end, 0 if told is None else told.high_watermark)
        if max(reached, lane.source.high_watermark) - start < GRANT:
            return None
        return await offset_at(self._source, lane.assignment.source, LATEST)


def _persisted(lane: Lane, told: LaneProgress | None) -> Persisted | None:
    """Where the lane's ranges end; the epoch as this process was acknowledged, or took the lane over, or as was
    persisted.

    What was persisted of the epoch is older than what this process knows, but where another had the lane since.
    """
    last, acknowledged = lane.copied.book.last, lane.copied.acknowledged_epoch
    if last is None:
        return None
    known = None if told is None else told.target_epoch
    if known is None or (known[1] <= acknowledged and known[0] <= last.target_end):
        return Persisted(last.source_end, last.target_end, acknowledged, target_start=last.target)
    return Persisted(last.source_end, last.target_end, known[1], known[0], last.target)
