"""The maps of a link read the other way: from what it has filled to what it has copied.

Where the producers of a wave are moved before its consumers, these read on the old cluster what the way back brings
there.  Where they go on is in the map of that link, backwards.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from anabranch.kafka.cluster import Cluster
from anabranch.model.link import UnknownLinkError
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.state.maps.reading import LinkMaps, read_maps


def backwards(maps: LinkMaps) -> LinkMaps:
    """The maps of a link that would lead from its target to its source; each position has the same answer."""
    spec, topics = maps.spec, {there: here for here, there in maps.topics.items()}
    chosen = PluginSpec("regex", {"include": [re.escape(topic) for topic in sorted(topics)], "exclude": []})
    lanes = {
        one.target: replace(one, source=one.target, target=one.source, ranges=one.ranges.inverse())
        for one in maps.maps.values()
    }
    doubts = {one.target: one for one in maps.doubts.values()}
    made = replace(spec, source=spec.target, target=spec.source, filter=chosen, back_of=None)
    return LinkMaps(made, topics, lanes, doubts)


def either_way(source: Cluster) -> Callable[[Cluster, str, Collection[TopicPartition] | None], Awaitable[LinkMaps]]:
    """What reads the maps of a link that leads from a cluster to another, or of one that leads from there to it."""

    async def read(target: Cluster, link: str, partitions: Collection[TopicPartition] | None) -> LinkMaps:
        try:
            return await read_maps(target, link, partitions)
        except UnknownLinkError:
            pass
        found = await read_maps(source, link, () if partitions is not None and not partitions else None)
        if found.spec.source.context != target.name:  # another link of that name
            raise UnknownLinkError(link, target.name)
        return backwards(found)

    return read
