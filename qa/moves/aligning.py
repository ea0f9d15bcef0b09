"""Moving one group as a person would with `anabranch groups`, and what MirrorMaker 2 would have answered instead."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.groups.plan import GroupStep
from anabranch.groups.select import GroupSelection
from anabranch.kafka.security import open_cluster
from anabranch.mirrormaker.store import CopiedRange, offset_syncs, translate
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.translate import Exact, to_target
from anabranch.state.maps.reading import LinkMaps, read_maps
from qa import brokers, groups
from qa.faults.ledger import Place


@dataclass(frozen=True, slots=True)
class Aligner:
    """The two clusters and the link that groups are moved along."""

    source: ClusterContext
    target: ClusterContext
    link: str

    def move(self, group: str) -> str:
        """Plan, and carry out that very plan; empty, or why it was refused."""
        try:
            seen = groups.plan_sync(self.source, self.target, self.link, GroupSelection((group,)))
            answer = "; ".join(f"{one.why}: {one.what}" for plan in seen.groups for one in plan.reasons)
            if answer:
                return answer
            done = groups.sync(self.source, self.target, self.link, GroupSelection((group,)), seen)
        except AnabranchError as error:
            return error.message
        failures = [
            plan.failure or plan.step for plan in done.groups if plan.step not in (GroupStep.MOVED, GroupStep.IN_SYNC)
        ]
        return "; ".join(failures) if done.groups else "no group was planned"

    def again(self, commits: Mapping[Place, int]) -> dict[Place, int]:
        """For each commit how many copied records MirrorMaker 2's answer would have a reader read again.

        Its best answer: from all the offset syncs that it would have written for what is copied by now.  A partition
        that it would write no checkpoint for is read from its start.
        """
        maps = brokers.retry(lambda: asyncio.run(self._maps()))  # a broker may just have been killed
        found = {}
        for partition, offset in commits.items():
            try:
                lane = maps.of_source(TopicPartition(*partition))
            except AnabranchError:
                continue
            exact = None if lane is None else to_target(lane.ranges, offset)
            if lane is None or not isinstance(exact, Exact):
                continue
            copied = [CopiedRange(run.source, run.target, run.length) for run in lane.ranges]
            answered = translate(offset_syncs(copied), offset)
            start = lane.ranges.target_start if answered is None else answered
            found[partition] = _records(copied, start, exact.offset)
        return found

    async def _maps(self) -> LinkMaps:
        async with open_cluster(self.target) as target:
            return await read_maps(target, self.link)


def _records(ranges: list[CopiedRange], start: int, end: int) -> int:
    """How many copied records lie at target offsets from ``start`` to before ``end``."""
    return sum(max(0, min(run.target + run.length, end) - max(run.target, start)) for run in ranges)
