"""What becomes of a lane whose fetch a broker refused, or answered with another history than the lane has read."""

from __future__ import annotations

from anabranch.copier.lane.epochs import UNKNOWN
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.source.truncation_check import is_cleaned, truncated
from anabranch.kafka import fetch
from anabranch.kafka.connection import Connection
from anabranch.kafka.partitions import EARLIEST, LATEST, list_offset
from anabranch.protocol.endings import Ending, OwnershipEnded, Stop, accepting

_OUT_OF_RANGE = 1
_TOPIC_DENIED = 29


async def refused(connection: Connection, lane: Lane, answer: fetch.Fetched, principal: str) -> None:
    """Stop the lane, have it read again from elsewhere, or look for its leader; raises ClusterError."""
    if answer.diverging is not None:
        await _diverging(connection, lane, *answer.diverging)
    elif answer.code == _OUT_OF_RANGE:
        await out_of_range(connection, lane)
    elif answer.code == _TOPIC_DENIED:
        not_allowed(
            lane,
            f"{principal} may not Read topic {lane.assignment.source.topic}",
            "grant READ on the source topic to the link's principal",
        )
    else:
        # The leader moved, or this partition alone has trouble: look for it again, the others go on.
        lane.source.leader = -1


def not_allowed(lane: Lane, detail: str, fix: str) -> None:
    """Stop a lane whose source may not be read by this principal."""
    lane.stop_at(Stop.SOURCE_NOT_ALLOWED, lane.fetched.fetch_offset, detail, fix)


async def _diverging(connection: Connection, lane: Lane, epoch: int, end: int) -> None:
    """The source has another history from some offset on, or its cleaner took all of an epoch's records."""
    fetched, assigned = lane.fetched, lane.assignment
    kept, asked = fetched.epochs.agreed(epoch, end), fetched.fetch_offset
    if kept < asked <= end:
        cleaned = await is_cleaned(connection, assigned.source, assigned.source_id.uuid, kept, asked, lane.source.epoch)
        if lane.phase is not LanePhase.RUNNING or fetched.fetch_offset != asked:
            return
        if cleaned is None:
            lane.source.leader = -1
            return
        if cleaned:
            fetched.epochs.forget()
            fetched.last_epoch = UNKNOWN
            return
    lost(lane, kept)


async def out_of_range(connection: Connection, lane: Lane) -> None:
    """The position is outside the source's log: say which records are lost, never skip them."""
    source, asked = lane.assignment.source, lane.fetched.fetch_offset
    start = await list_offset(connection, source.topic, source.partition, EARLIEST, epoch=lane.source.epoch)
    end = await list_offset(connection, source.topic, source.partition, LATEST, epoch=lane.source.epoch)
    if lane.phase is not LanePhase.RUNNING or lane.fetched.fetch_offset != asked:
        return  # the next ownership may begin elsewhere, and asks from there
    if start.code or end.code:
        lane.source.leader = -1
    elif asked < start.offset:
        lane.source.log_start = start.offset
        if lane.drained and lane.copied.has_passed(start.offset):
            lane.fetched.restart_at(start.offset)
        elif lane.drained:
            lane.stop_at(
                Stop.SOURCE_EXPIRED,
                asked,
                f"offsets {asked:,} to {start.offset - 1:,} are gone from the source by retention or deletion",
                f"let the lane go on after them: {accepting(lane.key)}",
            )
    elif asked > end.offset:
        lost(lane, end.offset)
    else:
        lane.source.leader = -1  # a leader that has only just begun: it will have its epochs


def lost(lane: Lane, kept: int) -> None:
    """The source kept its history up to ``kept``: what was sent and is lost needs a person, what was only read not."""
    active, sent = lane.active, lane.sent_to
    if kept < sent:
        lane.stop(truncated(lane.key, kept, sent))
    elif active is not None:
        fetched = lane.fetched
        detail = f"the source lost offsets {kept:,} to {fetched.fetch_offset - 1:,}, which were not copied yet"
        fetched.epochs.cut(kept)
        lane.end_ownership(active, OwnershipEnded(lane.key, Ending.BROKER, None, detail))
