"""Whether a source range and its translation hold the same records, from the headers of both logs.

A map has gaps where the source has transaction markers and compacted or aborted records, and where it accepted a
loss; markers are read by nobody.  So a range is equal when both logs hold just as many records there as the map
has copies: counted by batch headers, markers left out.  A record that was aborted counts as one that some readers see.
"""

from __future__ import annotations

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.operations.checkpoints.routes import MappedLane, records_of, target_offset
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.state.maps.rebuild import LogRange, headers

_FIX = "let the batch finish on the old cluster: --finish-command"


async def prove(
    source: Cluster, target: Cluster, lane: MappedLane, start: int, end: int, log: ReadableRange
) -> Reason | None:
    """None where both logs prove it; raises ClusterError."""
    ends = [target_offset(lane, offset, log) for offset in (start, end)]
    for one in ends:
        if isinstance(one, Reason):
            return one
    first, last = (one for one in ends if isinstance(one, int))
    copies = records_of(lane.ranges, start, end)
    if await offset_at(source, lane.source, EARLIEST) > start:
        return Reason(
            ReasonKind.NOT_EQUAL, f"the old cluster has lost records of {lane.source} from {start:,} on", _FIX
        )
    sides = (
        (source, LogRange(lane.source.topic, lane.source.partition, start, end), "old"),
        (target, LogRange(lane.target.topic, lane.target.partition, first, last), "new"),
    )
    for cluster, within, side in sides:
        there = await count(cluster, within)
        name = f"{within.topic}-{within.partition} {within.start:,} to {within.end:,} of the {side} cluster"
        if there is None:
            return Reason(
                ReasonKind.NOT_EQUAL, f"{name} was compacted: it cannot be determined which records the batch had", _FIX
            )
        if there != copies:
            return Reason(
                ReasonKind.NOT_EQUAL, f"{name} holds {there:,} records, of which {copies:,} are in the map", _FIX
            )
    return None


async def count(cluster: Cluster, within: LogRange) -> int | None:
    """The records in a range; None where a compacted batch reaches across an end of it.  Raises ClusterError."""
    found = 0
    if within.start >= within.end:
        return 0
    async for header in headers(cluster, within):
        if header.is_control or header.base_offset >= within.end:
            continue
        first, last = max(header.base_offset, within.start), min(header.last_offset + 1, within.end)
        if header.count == header.last_offset + 1 - header.base_offset:
            found += max(0, last - first)
        elif first == header.base_offset and last == header.last_offset + 1:
            found += header.count
        else:
            return None
    return found
