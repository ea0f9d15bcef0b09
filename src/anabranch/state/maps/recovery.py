"""One lane's map from its persisted segments, completed from the target's log where those may have lost something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from anabranch.errors import ProtocolError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.headers import header_at
from anabranch.model.lane import LaneMode, LaneProgress
from anabranch.offsets import codec
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol.claims import ClaimLog
from anabranch.protocol.gap_records import GapRecordLog
from anabranch.state.maps.rebuild import LaneLog, LogRange, headers, rebuild
from anabranch.state.segments.index import is_full

PURPOSE = "scan"
NARROW = 64
"""Target offsets that are looked at header by header; in a wider span whole batches are read at once."""


@dataclass(frozen=True, slots=True)
class TargetLog:
    """A lane's target partition as it is now: who leads it, where it begins, and its high watermark."""

    topic_id: UUID
    leader: int
    epoch: int
    start: int
    end: int


@dataclass(eq=False)
class TargetShorterError(ProtocolError):
    """The target's log ends before what was persisted of it."""

    persisted: int
    end: int

    _message = "ranges are persisted up to target offset {persisted:,}, and the log ends at {end:,}"


class MapRecovery:
    """Builds the map of one lane after another; ``gap_records`` were read after the segments that it is given."""

    def __init__(self, target: Cluster, claims: ClaimLog, gap_records: GapRecordLog) -> None:
        self._target = target
        self._claims = claims
        self._gap_records = gap_records

    async def build(self, lane: LaneProgress, segments: Mapping[int, bytes], log: TargetLog) -> OffsetMap | None:
        """The map of a lane, None for one that was never claimed.

        Raises RangeOrderError, CorruptMapError, UnknownMapVersionError, UnknownSourceError, TargetShorterError where
        what is persisted contradicts itself or the log, and ClusterError.
        """
        key = str(lane.lane)
        claims = self._claims.claims(key)
        if not claims:
            return None
        fixed = self._claims.fixed(key)
        floor = self._claims.floor(key, log.end)
        if fixed is not None and fixed.pads:
            floor = fixed.start  # what lies below is padding
        start = self._claims.start(key, claims[0].claim.start)
        ranges, following = OffsetMap(start, floor), 0
        for number in sorted(segments):
            piece = codec.decode(segments[number])
            if piece.target_end > log.end:
                raise TargetShorterError(piece.target_end, log.end)
            if not piece:
                continue
            if number != following and ranges.target_end < log.start:
                ranges = await self._begun(lane, piece[0], log)
            elif not ranges and piece[0].source < start:
                # What another tool had copied before: the lane began with that as its own (engine.adopting).
                ranges = OffsetMap(piece[0].source, piece[0].target)
            else:
                ranges = await self._across(lane, ranges, piece[0].target, log)
            ranges = ranges.extend(piece)
            following = number + 1 if is_full(piece) else -1
        ranges = await self._across(lane, ranges, min(lane.target_end, log.end), log)
        newest = claims[-1].claim
        same = newest.owner == lane.owner and newest.claimed_at_ms <= lane.updated_at_ms
        if lane.target_end > log.end or not (same or lane.mode is LaneMode.IDENTITY):
            return ranges
        return ranges.advance(max(ranges.source_end, lane.position), max(ranges.target_end, lane.target_end))

    async def _begun(self, lane: LaneProgress, first: MappedRange, log: TargetLog) -> OffsetMap:
        """A map that begins behind missing segments, whose records the target has deleted: they were retired, or are
        gone for the moment, and nothing tells of what lies below ``first`` but the log."""
        near = max(0, first.source - max(0, first.target - log.start))
        found = await self._across(lane, OffsetMap(0, log.start), first.target, log, near)
        begin = found[0] if found else first
        return OffsetMap(begin.source, begin.target).extend(found)

    async def _across(
        self, lane: LaneProgress, ranges: OffsetMap, end: int, log: TargetLog, near: int | None = None
    ) -> OffsetMap:
        """The map with what the lane wrote between its end and a target offset, which is nothing most of the time.

        ``near`` is a source offset close to that, None for the map's end.
        """
        start = max(ranges.target_end, log.start)
        if end <= start:
            return ranges
        ids = self._claims.producer_ids(str(lane.lane))
        if end - start <= NARROW and not await self._holds(lane, log, start, end, ids):
            return ranges
        within = LogRange(lane.target.topic, lane.target.partition, start, end)
        for mapped in await self._written(lane, within, ids, ranges.source_end if near is None else near):
            # A batch with gaps inside is several ranges, and a segment may end between two of them.
            first, last = max(mapped.target, start), min(mapped.target_end, end)
            if first < last:
                ranges = ranges.append(MappedRange(mapped.source + first - mapped.target, first, last - first))
        return ranges

    async def _written(self, lane: LaneProgress, within: LogRange, ids: frozenset[int], near: int) -> list[MappedRange]:
        """The mapped ranges of the lane's batches in a range of the log; raises UnknownSourceError where gap records
        were forgotten.
        """
        key = str(lane.lane)
        if self._claims.mode(key) is LaneMode.MAPPED:
            return await rebuild(self._target, within, LaneLog(key, ids, self._gap_records), near)
        # Under identity each offset tells itself: whoever finds another one there makes the lane mapped.
        return [
            MappedRange(header.base_offset, header.base_offset, header.last_offset + 1 - header.base_offset)
            async for header in headers(self._target, within)
            if header.producer_id in ids and not header.is_control
        ]

    async def _holds(self, lane: LaneProgress, log: TargetLog, at: int, end: int, ids: frozenset[int]) -> bool:
        """Whether a batch of the lane lies in a range of the log; markers and batches of others do not count."""
        connection = await self._target.connection(log.leader, PURPOSE)
        topic, partition = lane.target.topic, lane.target.partition
        while at < end:
            code, header = await header_at(connection, topic, log.topic_id, partition, at, epoch=log.epoch)
            self._target.check(code, "Read", f"partition {lane.target}")
            if header is None or header.base_offset >= end:
                return False
            if header.producer_id in ids and not header.is_control:
                return True
            at = header.last_offset + 1
        return False
