"""The proof: both logs read record by record by another client, and the persisted runs held against what was read."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.reports import LinkStatus
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.segments.index import OffsetMapIndex
from anabranch.state.topics.control import Runs
from qa.brokers import log_ends
from qa.logcompare import ComparedRecord, compare, read_log


@dataclass(frozen=True, slots=True)
class LaneProof:
    """One lane: what both logs hold, the map that its persisted runs make, and the runs that the logs themselves
    show.
    """

    progress: LaneProgress
    source: Sequence[ComparedRecord]
    target: Sequence[ComparedRecord]
    persisted: OffsetMap
    differences: int
    samples: tuple[str, ...]

    @property
    def seen(self) -> OffsetMap:
        """The runs as the two logs show them: the n-th record of the one is the n-th of the other."""
        ranges: list[MappedRange] = []
        for ours, theirs in zip(self.source, self.target, strict=False):
            last = ranges[-1] if ranges else None
            if last is not None and (last.source_end, last.target_end) == (ours.offset, theirs.offset):
                ranges[-1] = MappedRange(last.source, last.target, last.length + 1)
            else:
                ranges.append(MappedRange(ours.offset, theirs.offset, 1))
        return OffsetMap.of(ranges)

    @property
    def equal(self) -> bool:
        """Whether nothing differs and every persisted run is true."""
        return self.differences == 0 and list(self.persisted) == list(self.seen)


@dataclass(frozen=True, slots=True)
class TopicProof:
    """One topic: records and digests of both sides."""

    topic: str
    partitions: int
    records: tuple[int, int]
    digests: tuple[str, str]

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same."""
        return self.records[0] == self.records[1] and self.digests[0] == self.digests[1]


def prove(
    status: LinkStatus, source: Mapping[str, Any], target: Mapping[str, Any], target_context: ClusterContext
) -> list[LaneProof]:
    """Read every lane's two logs with librdkafka and its runs from ``__anabranch_runs``."""
    persisted = asyncio.run(_persisted(target_context))
    proofs = []
    for lane in status.lanes:
        ours = read_log(source, lane.source.topic, lane.source.partition, committed=True)
        theirs = read_log(target, lane.target.topic, lane.target.partition)
        found = compare(ours, theirs)
        ranges = persisted.get(lane.lane, OffsetMap.of(()))
        proofs.append(LaneProof(lane, ours, theirs, ranges, found.total, found.samples))
    return proofs


def ends(config: Mapping[str, Any], partitions: Mapping[str, int]) -> dict[tuple[str, int], int]:
    """The high watermark of every partition, as librdkafka tells it."""
    return log_ends(config, [(topic, number) for topic, numbers in partitions.items() for number in range(numbers)])


def topics(proofs: Sequence[LaneProof]) -> list[TopicProof]:
    """The lanes of each topic together; a digest covers key, value, headers and timestamps in their order."""
    found = []
    for name in sorted({proof.progress.source.topic for proof in proofs}):
        lanes = [proof for proof in proofs if proof.progress.source.topic == name]
        sides = [lane.source for lane in lanes], [lane.target for lane in lanes]
        records = tuple(sum(map(len, side)) for side in sides)
        found.append(TopicProof(name, len(lanes), (records[0], records[1]), (_digest(sides[0]), _digest(sides[1]))))
    return found


def _digest(logs: Sequence[Sequence[ComparedRecord]]) -> str:
    whole = hashlib.blake2b(digest_size=8)
    for log in logs:
        whole.update(len(log).to_bytes(8, "big"))
        for entry in log:
            whole.update(entry.digest)
    return whole.hexdigest()


async def _persisted(context: ClusterContext) -> dict[LaneKey, OffsetMap]:
    async with open_cluster(context) as cluster:
        ranges = Runs(cluster)
        await ranges.sync()
    return {lane: OffsetMapIndex.of_segments(segments).map for lane, segments in ranges.segments.items()}
