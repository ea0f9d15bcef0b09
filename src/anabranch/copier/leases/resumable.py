"""A lane as it begins in a worker: as this worker left it, or as it was persisted."""

from __future__ import annotations

from anabranch.copier.lane.lane import Lane
from anabranch.copier.lane.tally import Tally
from anabranch.copier.leases.control_topics import ControlTopics
from anabranch.model.lane import LaneAssignment, LaneMode, LaneProgress
from anabranch.model.link import ModePolicy
from anabranch.offsets.errors import RangeOrderError


class ResumableLanes:
    """The lanes that this worker, ``owner``, gave back and can go on with, while no other has copied on."""

    def __init__(self, owner: str, topics: ControlTopics) -> None:
        self._owner = owner
        self._topics = topics
        self._kept: dict[str, Lane] = {}

    def keep(self, lane: Lane) -> None:
        """The lane was given back, and its producer id may be used again."""
        self._kept[lane.key] = lane

    def forget(self) -> None:
        """None can be gone on with: the link was deleted."""
        self._kept.clear()

    def lane(self, assignment: LaneAssignment, link_mode: ModePolicy | None, *, knows_ranges: bool) -> Lane:
        """The lane as this worker left it, or as it was persisted.

        ``link_mode`` is what the link asks for, None while that is not known; ``knows_ranges``: the persisted ranges
        were read.
        """
        topics, lane = self._topics, Lane(assignment)
        kept = self._kept.pop(lane.key, None)
        persisted = topics.progress.lanes.get(assignment.lane)
        claims = topics.journal.claims.claims(lane.key)
        # Else another worker has copied on since.
        mine = (
            (persisted is None or persisted.owner == self._owner)
            and bool(claims)
            and claims[-1].claim.owner == self._owner
        )
        if kept is not None and mine:
            _take_from(lane, kept)
            topics.ranges.keep_news(assignment.lane)
        else:
            self._read(lane, persisted, knows_ranges)
        copied, last = lane.copied, lane.copied.book.last
        if last is not None:
            copied.position, copied.target_end = last.source + last.length, last.target + last.length
        if persisted is not None:
            copied.source_epoch, copied.target_epoch = persisted.source_epoch, persisted.target_epoch
            # Another's last ranges may not be read yet, and what is none to be copied has no range.
            copied.position = max(copied.position, persisted.position)
            copied.target_end = max(copied.target_end, persisted.target_end)
        if lane.mapped_because is not None and link_mode not in {None, ModePolicy.MAPPED}:
            lane.mapped_because = "the source topic is compacted: under identity its first gap would shift the log"
        status = lane.status
        is_mapped = topics.journal.claims.mode(lane.key) is LaneMode.MAPPED and status.mode is LaneMode.MAPPED
        if is_mapped and status.mode_reason:
            lane.mapped_because = status.mode_reason
        return lane

    def _read(self, lane: Lane, persisted: LaneProgress | None, knows_ranges: bool) -> None:
        ranges, key, copied = self._topics.ranges, lane.assignment.lane, lane.copied
        # Segments that contradict each other (an older one was stored late, after a truncation): the takeover meets
        # them again, and says so of this lane alone.
        try:
            copied.book = ranges.book(key)
        except RangeOrderError:
            copied.is_map_incomplete = True
        copied.is_map_incomplete = copied.is_map_incomplete or not knows_ranges or ranges.lacks(key)
        if persisted is not None:
            copied.tally = Tally(persisted.records, persisted.bytes, persisted.position)
            copied.tally.add_found(copied.book.map)  # ranges are persisted before the progress that counts them
            lane.status.mode, lane.status.mode_reason = persisted.mode, persisted.mode_reason
        elif copied.book.last is not None:
            copied.tally.counted_to = copied.book.last.source_end  # nobody of this link copied it: it was adopted


def _take_from(lane: Lane, kept: Lane) -> None:
    copied, before = lane.copied, kept.copied
    copied.book, copied.tally, copied.acknowledged_epoch = before.book, before.tally, before.acknowledged_epoch
    lane.reusable_producer = kept.reusable_producer
    lane.status.mode, lane.status.mode_reason = kept.status.mode, kept.status.mode_reason
    lane.status.foreign_writer = kept.status.foreign_writer
    lane.fetched.epochs = kept.fetched.epochs
