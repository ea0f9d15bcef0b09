"""Where the compared logs begin and end at a moment, read in the driver."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.kafka.ends import ends
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.verify.pins import Pin

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LogRanges:
    """(first offset, end) of each partition; the source's end is its last stable offset, as consumers see it.

    ``stable`` are the target's last stable offsets.
    """

    source: dict[TopicPartition, Bounds]
    target: dict[TopicPartition, Bounds]
    stable: dict[TopicPartition, int]

    def of(self, is_source: bool, partition: TopicPartition) -> Bounds:
        """Those of one partition."""
        return (self.source if is_source else self.target)[partition]


def read_log_ranges(source: ClusterContext, target: ClusterContext, pins: Sequence[Pin]) -> LogRanges:
    """Ask both clusters; raises ClusterError."""

    async def ask() -> LogRanges:
        async with open_cluster(source) as source_cluster, open_cluster(target) as target_cluster:
            source_ranges, target_ranges, stable = await asyncio.gather(
                ends(source_cluster, [pin.source for pin in pins], stable=True),
                ends(target_cluster, [pin.target for pin in pins]),
                ends(target_cluster, [pin.target for pin in pins], stable=True),
            )
            return LogRanges(source_ranges, target_ranges, {partition: end for partition, (_, end) in stable.items()})

    return asyncio.run(ask())
