"""Bringing a lane's offset map up to its last batch in the target's log, before anything more is sent."""

from __future__ import annotations

from anabranch.copier.lane.lane import Lane
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST
from anabranch.model.lane import LaneMode
from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, copied
from anabranch.protocol.ownership import Ownership
from anabranch.state.maps.rebuild import LaneLog, LogRange, UnknownSourceError, rebuild
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import GapRecords, Journal


class MapCompletion:
    """Completes the maps of lanes that were just taken over, from what is persisted and from the target's headers."""

    def __init__(
        self, target: Cluster, journal: Journal, gap_records: GapRecords, ranges: MappedRanges, gate: WriteGate
    ) -> None:
        self._target = target
        self._gate = gate
        self._journal = journal
        self._gap_records = gap_records
        self._ranges = ranges

    async def complete(self, lane: Lane, ownership: Ownership) -> None:
        """Bring the lane's book up to its last batch in the target's log.

        Where the log was truncated, the cut is persisted before anything is sent: what will lie there next is something
        else, and ranges are believed below the log's end.  In a lane without gaps the shift between both sides only
        ever grows, so where it is the same at both ends of what is missing, one range covers it; else the headers in
        between are read.  Raises OwnershipEnded, LaneStopped, UnknownSourceError, ClusterError.
        """
        try:
            await self._complete(lane, ownership)
        except UnknownSourceError as error:
            await self._stop_without_ranges(lane, ownership, error)
            raise

    async def _complete(self, lane: Lane, ownership: Ownership) -> None:
        book = lane.copied.book
        if book.map.target_end > ownership.tail_end:
            book = await self._ranges.cut(lane.assignment.lane, book, ownership.tail_end)
            if book.last is None and book.first:
                book = await self._below_retired(lane, ownership)
            lane.copied.book = book
            self.check_owned(lane, ownership)
            await self._ranges.persist(
                {(lane.assignment.lane, number): ranges for number, ranges in book.unpersisted()}
            )
        if ownership.is_replaced:
            lane.copied.book = await self._from_log(lane, ownership)
            return
        last = book.last
        if ownership.mode is LaneMode.IDENTITY and last is None and not ownership.gap_records:
            start = ownership.claim.start
            if ownership.position > start:
                book.append(MappedRange(start, start, ownership.position - start))
            return
        from_source = last.source + last.length if last is not None else None
        # Where a person had the lane begin again, it has the ranges of the generation before.
        from_target = max(0 if last is None else last.target_end, self._first_target(lane, ownership))
        if from_target >= ownership.tail_end:
            return
        has_gaps = self._gap_records.gap_records.knows(lane.key)
        if (
            not has_gaps
            and from_source is not None
            and ownership.position - from_source == ownership.tail_end - from_target
        ):
            book.append(MappedRange(from_source, from_target, ownership.tail_end - from_target))
            return
        target = lane.assignment.target
        within = LogRange(target.topic, target.partition, from_target, ownership.tail_end)
        near = from_source if from_source is not None else self._journal.claims.start(lane.key, ownership.position)
        log = LaneLog(lane.key, self._journal.claims.producer_ids(lane.key), self._gap_records.gap_records, book.map)
        found = await rebuild(self._target, within, log, near)
        try:
            for mapped in found:
                book.append(mapped)
        except RangeOrderError:
            lane.copied.book = await self._from_log(lane, ownership)

    async def _stop_without_ranges(self, lane: Lane, ownership: Ownership, error: UnknownSourceError) -> None:
        """Raise LaneStopped where mapped ranges are lost: gap records are forgotten only once ranges that tell the same
        are persisted.  Where ranges were persisted meanwhile, by an owner that was late, another attempt finds them.
        Raises OwnershipEnded as ``check_owned`` does.
        """
        await self._ranges.sync()
        if self._ranges.has_news(lane.assignment.lane):
            return
        self.check_owned(lane, ownership)
        lane.copied.position, lane.copied.target_end = ownership.position, ownership.target_end
        raise LaneStopped(
            lane.key,
            Stop.POSITION_LOST,
            ownership.position,
            detail=f"it stands at {ownership.position:,}, and its offset map is lost: {error.message}",
            fix=copied(lane.key),
        ) from error

    def check_owned(self, lane: Lane, ownership: Ownership) -> None:
        """Raise OwnershipEnded where another has claimed the lane since, or this process was stopped for so long that
        it cannot tell: what it knows of the log's end may be old, and a cut there would take what another persisted.
        """
        if not self._gate.is_fresh:
            raise OwnershipEnded(lane.key, Ending.LEASE)
        later = self._journal.claims.successor(lane.key, ownership.producer_id)
        if ownership.mode is LaneMode.MAPPED and later is not None:
            raise OwnershipEnded(lane.key, Ending.SUPERSEDED, None, later.owner)

    async def _below_retired(self, lane: Lane, ownership: Ownership) -> OffsetMapIndex:
        """The book where a target was truncated below all that is persisted, since what lay there was retired.

        What the log tells of it is persisted together with the cut.  Raises LaneStopped where it does not tell all.
        """
        try:
            return await self._from_log(lane, ownership)
        except UnknownSourceError as error:
            raise LaneStopped(
                lane.key,
                Stop.POSITION_LOST,
                ownership.position,
                detail=f"the target was truncated to {ownership.tail_end:,}, below what its offset map tells of since "
                f"the records there were deleted on both sides: {error.message}",
                fix=copied(lane.key),
            ) from error

    async def _from_log(self, lane: Lane, ownership: Ownership) -> OffsetMapIndex:
        """The book as the target's log alone tells it, where what is persisted is not what lies there.

        An owner that was stopped may have persisted, once more, what it had sent before an unclean election took that.
        What the log no longer has is kept as it was persisted.  Raises UnknownSourceError where gap records are
        forgotten.
        """
        claims, target = self._journal.claims, lane.assignment.target
        first = max(self._first_target(lane, ownership), await offset_at(self._target, target, EARLIEST))
        within = LogRange(target.topic, target.partition, first, ownership.tail_end)
        near = max(claims.start(lane.key, ownership.position), ownership.position - (ownership.tail_end - first))
        log = LaneLog(lane.key, claims.producer_ids(lane.key), self._gap_records.gap_records)
        found = await rebuild(self._target, within, log, near)
        until = found[0].target if found else ownership.tail_end
        book = await self._ranges.cut(lane.assignment.lane, lane.copied.book, until)
        for mapped in found:
            book.append(mapped)
        book.persist_again(book.first)
        return book

    def _first_target(self, lane: Lane, ownership: Ownership) -> int:
        """The target offset below which the lane has no records: behind its padding, if it began with that."""
        fixed = self._journal.claims.fixed(lane.key)
        if fixed is not None and fixed.pads:
            return fixed.start
        return self._journal.claims.floor(lane.key, ownership.tail_end)
