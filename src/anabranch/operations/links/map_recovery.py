"""Recover the maps of lanes whose progress or history is lost or in doubt: they go on in a new generation.

Nothing is lost by that: the new generation starts at the end of what is certainly on the target.  What may follow it
there is bounded and named: those records may be on the target twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.model.decisions import Cause, PendingDecision, beginning
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol.endings import Stop
from anabranch.state.segments.index import SEGMENT_RANGES, in_order
from anabranch.state.topics.control import MappedRanges

CAUSES = {
    Stop.POSITION_LOST: Cause.POSITION_LOST,
    Stop.CLAIMS_LOST: Cause.CLAIMS_LOST,
    Stop.DIVERGED: Cause.DIVERGED,
}
SKIPPABLE = (
    Stop.TOO_LARGE,
    Stop.INVALID_RECORD,
    Stop.INVALID_TIMESTAMP,
    Stop.REFUSED,
    Stop.OLD_FORMAT,
    Stop.CORRUPT,
)
"""Stops at records that may be given up: some cannot be fixed at all."""


def cause_of(lane: LaneProgress, has_claims: bool, begun_at: int) -> Cause | None:
    """Why it is in doubt how far a lane was copied; None where it is not.

    ``begun_at`` is where a person had the lane's generation begin, -1 for the first one.
    """
    if lane.state is LaneState.STOPPED and lane.stop_reason is not None:
        for stop, cause in CAUSES.items():
            if stop.value in lane.stop_reason:
                return cause
    if not has_claims and lane.position > max(0, begun_at):
        return Cause.CLAIMS_LOST
    return None


def unreported(lane: LaneKey, source: TopicPartition, target: TopicPartition, begun: int) -> LaneProgress:
    """What stands for the progress of a lane of which none is left: it began, and nothing is known to be copied."""
    none = (0, 0, 0, 0, 0, 0)
    return LaneProgress(
        lane, source, target, LaneState.WAITING, LaneMode.MAPPED, "", begun, *none, 0.0, 0.0, None, None, "", 0
    )


@dataclass(frozen=True, slots=True)
class LaneInDoubt:
    """A lane in doubt: where the copy surely ends on both sides, and where both logs do."""

    lane: LaneProgress
    cause: Cause
    safe: int
    first: int
    last: int
    ranges: tuple[MappedRange, ...]
    target_start: int
    target_end: int

    @classmethod
    async def read(cls, source: Cluster, target: Cluster, lane: LaneProgress, cause: Cause) -> LaneInDoubt:
        """What is known of a lane; raises ClusterError."""
        ranges = tuple(await persisted(target, lane.lane))
        reached = ranges[-1].source_end if ranges else lane.position
        safe = (
            reached if cause is Cause.GAP_RECORDS_LOST or lane.stop_offset is None else min(reached, lane.stop_offset)
        )
        if not ranges and lane.stop_offset is not None:
            safe = lane.stop_offset
        return cls(
            lane,
            cause,
            safe,
            await offset_at(source, lane.source, EARLIEST),
            await offset_at(source, lane.source, LATEST),
            ranges,
            await offset_at(target, lane.target, EARLIEST),
            await offset_at(target, lane.target, LATEST),
        )

    def pending_decision(self, at: int | None, now_ms: int) -> PendingDecision:
        """What going on means; ``at`` is where a person wants it, None for the surely copied end.

        Raises InvalidFieldError for an offset that the source does not have.
        """
        lane = self.lane
        start = max(self.safe, self.first) if at is None else at
        if not self.first <= start <= max(self.last, self.safe):
            raise InvalidFieldError("link accept", "--at", f"the source has offsets {self.first:,} to {self.last:,}")
        again = replace(lane.lane, generation=lane.lane.generation + 1)
        kept = below(self.ranges, min(start, self.safe))
        mapped_to = kept[-1].target_end if kept else self._without_map(start)
        unknown = max(0, self.target_end - max(mapped_to, self.target_start))
        lost = (self.safe, start) if start > self.safe else None
        # Where the source has gaps, few records may reach far: how far, no count on the target tells.
        twice = (start, max(start, self.last if unknown else start))
        its_map = "and its map begins there"
        if kept:
            its_map = f"with its map up to {'there' if lost is None else f'offset {self.safe:,}'}"
        means = f"the lane goes on at source offset {start:,}, as generation {again.generation}, {its_map}"
        if lost is not None:
            means += f"; offsets {words(lost)} are not copied from the source any more"
        if twice[0] < twice[1]:
            which = "source offsets" if twice[1] - twice[0] <= unknown else f"{unknown:,} of the source offsets"
            means += (
                f"; the target holds up to {unknown:,} records after its offset {mapped_to:,} that are in no map: "
                f"{which} {words(twice)} may be there twice then"
            )
        else:
            means += "; the target holds nothing after that, so nothing is copied twice"
        if self.cause is Cause.GAP_RECORDS_LOST:
            means += "; end every run first, for what one copies meanwhile is not counted here"
        if self.cause is Cause.CLAIMS_LOST:
            means += "; earlier owners cannot be fenced, since their producer ids are forgotten: end every run first"
        return PendingDecision(
            self.cause,
            lane.source,
            lane.target,
            again,
            lane.position,
            lost,
            twice if twice[0] < twice[1] else None,
            beginning(again, start, now_ms, self.cause.value),
            means,
            keeps=lane.lane if kept else None,
        )

    def _without_map(self, start: int) -> int:
        """The target offset below which nothing lies that is copied from ``start`` on, as far as progress tells."""
        return max(self.target_start, self.lane.target_end) if start >= self.lane.position else self.target_start


async def persisted(target: Cluster, lane: LaneKey) -> list[MappedRange]:
    """The persisted runs of a lane; none where they contradict each other."""
    ranges = MappedRanges(target)
    try:
        await ranges.sync()
        return list(OffsetMap.of(in_order(ranges.segments.get(lane, {}))))
    except AnabranchError:
        return []


async def keep(target: Cluster, pending: Iterable[PendingDecision]) -> None:
    """File the maps that new generations go on with; what an attempt before has persisted is replaced.

    Invariant: such a map tells of nothing that is given up, whatever was persisted of it.  Raises ClusterError.
    """
    wanted = [pending_decision for pending_decision in pending if pending_decision.keeps is not None]
    if not wanted:
        return
    stored = MappedRanges(target)
    await stored.sync()
    segments: dict[tuple[LaneKey, int], tuple[MappedRange, ...]] = {}
    for pending_decision in wanted:
        assert pending_decision.keeps is not None
        given_up, start = pending_decision.given_up, pending_decision.decision.start or 0
        ranges = below(await persisted(target, pending_decision.keeps), start if given_up is None else given_up[0])
        segments |= {(pending_decision.lane, number): () for number in stored.segments.get(pending_decision.lane, {})}
        segments |= {
            (pending_decision.lane, at // SEGMENT_RANGES): tuple(ranges[at : at + SEGMENT_RANGES])
            for at in range(0, len(ranges), SEGMENT_RANGES)
        }
    await stored.persist(segments)


def below(ranges: Iterable[MappedRange], end: int) -> list[MappedRange]:
    """Runs up to a source offset, the last one cut there."""
    return [replace(run, length=min(run.length, end - run.source)) for run in ranges if run.source < end]


def words(offsets: tuple[int, int]) -> str:
    """A range of offsets as people write it."""
    return f"{offsets[0]:,}" if offsets[1] - offsets[0] == 1 else f"{offsets[0]:,} to {offsets[1] - 1:,}"
