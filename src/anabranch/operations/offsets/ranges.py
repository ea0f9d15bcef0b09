"""The maps of a link as plain values: which source offset is which target offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.model.positions import LaneRanges, StoredRange
from anabranch.model.topics import TopicPartition
from anabranch.operations.offsets.translate import TopicNotInLinkError
from anabranch.state.maps.reading import LaneInDoubtError, LaneMap, LinkMaps, read_maps


@dataclass(eq=False)
class NoLaneError(RefusedError):
    """A partition of one of the link's topics that no lane has begun to copy, or that does not exist."""

    link: str
    partition: TopicPartition

    _message = "link {link!r} has no lane for {partition}"

    @property
    def hint(self) -> str:
        return f"`anabranch offsets ranges {self.link} {self.partition.topic}` shows the lanes that have begun"


async def ranges(target: Cluster, link_id: str, where: str | None = None) -> Sequence[LaneRanges]:
    """The maps of a link, of one source topic, or of one partition, ``TOPIC-PARTITION``.

    A topic's name comes first where both could be meant.  Raises UnknownLinkError, TopicNotInLinkError,
    NoLaneError, LaneInDoubtError, ClusterError.
    """
    maps = await read_maps(target, link_id, None)
    return tuple(lane_ranges(one) for one in certain(_chosen(maps, where)))


def _chosen(maps: LinkMaps, where: str | None) -> list[LaneMap | LaneInDoubtError]:
    every = [*maps, *maps.doubts.values()]
    if where is None:
        return every
    topic, _, number = where.rpartition("-")
    if where in maps.topics:
        return [one for one in every if one.source.topic == where]
    if topic not in maps.topics or not (number.isascii() and number.isdecimal()):
        raise TopicNotInLinkError(maps.link, where, "source", tuple(sorted(maps.topics)))
    at = TopicPartition(topic, int(number))
    chosen = [one for one in every if one.source == at]
    if not chosen:
        raise NoLaneError(maps.link, at)
    return chosen


def certain(chosen: Sequence[LaneMap | LaneInDoubtError]) -> list[LaneMap]:
    """The maps, of which none may be in doubt; raises LaneInDoubtError."""
    found: list[LaneMap] = []
    for one in chosen:
        if isinstance(one, LaneInDoubtError):
            raise one
        found.append(one)
    return found


def lane_ranges(lane: LaneMap) -> LaneRanges:
    """A map as a plain value."""
    ranges = lane.ranges
    return LaneRanges(
        lane.lane,
        lane.source,
        lane.target,
        lane.mode,
        lane.state,
        lane.updated_at_ms,
        ranges.source_start,
        ranges.target_start,
        ranges.source_end,
        ranges.target_end,
        ranges.records,
        tuple(StoredRange(run.source, run.target, run.length) for run in ranges),
    )
