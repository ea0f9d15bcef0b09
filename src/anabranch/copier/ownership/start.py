"""Where a lane begins, and which mode it can be begun in: asked before its first claim."""

from __future__ import annotations

from anabranch.copier.lane.lane import Lane
from anabranch.copier.ownership.target_access import TargetAccess
from anabranch.copier.target import head_padding
from anabranch.errors import ProtocolError, RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.headers import header_at
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneMode
from anabranch.model.start import StartKind
from anabranch.protocol.claims import ClaimLog
from anabranch.protocol.guard import barred


async def start_of(source: Cluster, assignment: LaneAssignment, claims: ClaimLog) -> int:
    """The source offset at which the lane begins; an earlier claim's stands whatever this says."""
    key = str(assignment.lane)
    known = claims.claims(key)
    if known:
        return claims.start(key, known[0].claim.start)
    start = assignment.start
    if start.kind is StartKind.OFFSETS:
        assert start.value is not None
        return start.value
    at = {StartKind.EARLIEST: EARLIEST, StartKind.LATEST: LATEST}.get(start.kind, start.value)
    assert at is not None
    offset = await offset_at(source, assignment.source, at)
    if offset < 0:  # no record that young: begin behind the last one
        offset = await offset_at(source, assignment.source, LATEST)
    return offset


async def mode_of(
    source: Cluster, access: TargetAccess, lane: Lane, start: int, expiration: int, claims: ClaimLog
) -> tuple[LaneMode, str]:
    """Identity is asked for only where it can be held: the choice is made before it matters, never after.

    Returns why, too.  Raises ClusterError.
    """
    if lane.mapped_because is not None:
        return LaneMode.MAPPED, lane.mapped_because or "the link asks for mapped lanes"
    known = claims.mode(lane.key)
    if known is not None:
        persisted = lane.status.mode_reason if lane.status.mode is LaneMode.MAPPED else ""
        return known, persisted or "an earlier owner made the lane mapped"
    why = barred(access.by_coordinator, access.expiration_ms, now_ms(), None)
    why = why or barred(False, expiration, now_ms(), await _first_timestamp(source, lane.assignment, start))
    if why:
        return LaneMode.MAPPED, why
    if start and (why := await head_padding.why_not(access.cluster, lane.assignment, start)):
        return LaneMode.MAPPED, why
    return LaneMode.IDENTITY, ""


async def _first_timestamp(cluster: Cluster, assignment: LaneAssignment, start: int) -> int | None:
    """The maximum timestamp of the first batch to copy; None where there is none yet."""
    source = assignment.source
    meta, part = await cluster.partition(source.topic, source.partition)
    connection = await cluster.connection(part.leader)
    try:
        _, header = await header_at(connection, source.topic, meta.id, source.partition, start, epoch=part.leader_epoch)
    except (ProtocolError, RefusedError):
        return None  # the fetcher meets the same bytes and says what is wrong with them
    return None if header is None else header.max_timestamp
