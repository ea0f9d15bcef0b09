"""The ranges of a link's lanes that are compared, and the partitions that cannot be."""

from __future__ import annotations

import asyncio

from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.model.topics import TopicPartition
from anabranch.state.maps.reading import LinkMaps
from anabranch.verify.pins import LogEnds, Pin, pin


async def pins_of(source: Cluster, target: Cluster, maps: LinkMaps) -> list[Pin]:
    """Each lane from where its map begins to where both logs end now."""
    lanes = list(maps)
    if not lanes:
        return []
    ours, theirs = await asyncio.gather(
        ends(source, [lane.source for lane in lanes], stable=True), ends(target, [lane.target for lane in lanes])
    )
    compacted = await asyncio.gather(
        _compacted(source, {lane.source.topic for lane in lanes}),
        _compacted(target, {lane.target.topic for lane in lanes}),
    )
    return [
        pin(
            str(lane.lane),
            lane.source,
            lane.target,
            lane.ranges,
            LogEnds(*ours[lane.source]),
            LogEnds(*theirs[lane.target]),
            compacts=(lane.source.topic in compacted[0], lane.target.topic in compacted[1]),
        )
        for lane in lanes
    ]


async def unmapped(source: Cluster, maps: LinkMaps) -> dict[TopicPartition, str]:
    """Why partitions that the link copies and that hold something cannot be compared: nothing was copied yet."""
    topics = (await source.metadata(sorted(maps.topics))).topics if maps.topics else {}
    blank = [
        partition
        for name, topic in topics.items()
        if not topic.error
        for number in topic.partitions
        if (partition := TopicPartition(name, number)) not in maps.doubts
        and not ((lane := maps.maps.get(partition)) and lane.ranges)
    ]
    found = {}
    for partition, (start, end) in (await ends(source, blank, stable=True) if blank else {}).items():
        lane = maps.maps.get(partition)
        first = start if lane is None else max(start, lane.ranges.source_end)
        if first < end:
            found[partition] = f"it has no map yet: nothing of its offsets {first:,} to {end:,} was copied"
    return found


async def _compacted(cluster: Cluster, topics: set[str]) -> set[str]:
    """The topics whose cleanup policy compacts now; one whose configuration may not be read counts as not compacted."""
    found = await admin.topic_configs(cluster, sorted(topics))
    return {
        topic
        for topic, configs in found.items()
        if (policy := configs.get("cleanup.policy")) is not None and "compact" in (policy.value or "")
    }
