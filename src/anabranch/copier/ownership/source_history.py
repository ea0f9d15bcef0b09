"""The source's leader epochs as a takeover needs them: what is persisted of a lane must lie in the same history."""

from __future__ import annotations

from anabranch.copier.lane.epochs import UNKNOWN
from anabranch.copier.lane.lane import Lane
from anabranch.copier.source.truncation_check import epoch_before, surviving
from anabranch.kafka.cluster import Cluster
from anabranch.model.lane import LaneMode
from anabranch.protocol.ownership import Ownership
from anabranch.state.topics.control import Progress


class SourceHistory:
    """What was persisted, or read by this process, of the epochs of lanes' records."""

    def __init__(self, source: Cluster, progress: Progress) -> None:
        self._source = source
        self._progress = progress

    async def surviving(self, lane: Lane) -> int | None:
        """Where the source's history parts from what was persisted of the lane; None where it does not.

        What this process has read itself, its next fetch asks about.
        """
        known = self._known(lane)
        if known is None or lane.fetched.epochs.at(known[0]) == known[1]:
            return None
        return await surviving(self._source, lane.assignment.source, *known)

    async def note(self, lane: Lane, position: int) -> None:
        """See to it that the next fetch can name the epoch of the record before it, if one was copied."""
        trail = lane.fetched.epochs
        if trail.at(position) != UNKNOWN or lane.copied.book.last is None:
            return
        known = self._known(lane)
        if known is not None and known[0] == position:
            epoch = known[1]
        else:
            epoch = await epoch_before(self._source, lane.assignment.source, position)
        trail.note(epoch, position - 1, position)

    def note_passed(self, lane: Lane, ownership: Ownership) -> None:
        """Remember how far an earlier owner read behind the last record, where that is still the last one.

        Without it a log that ended in a transaction's marker, or in what the cleaner took, and has expired since would
        seem to have lost records.
        """
        persisted, last = self._progress.lanes.get(lane.assignment.lane), lane.copied.book.last
        if persisted is None:
            return
        if last is None:
            is_last = not persisted.records
        elif ownership.mode is LaneMode.IDENTITY:
            is_last = persisted.target_end == ownership.position
        else:
            is_last = persisted.target_end == last.target_end and last.source_end == ownership.position
        if is_last and persisted.position > ownership.position:
            lane.copied.note_passed(ownership.position, persisted.position)

    def _known(self, lane: Lane) -> tuple[int, int] | None:
        """What was persisted last, by whomever: what a process persists itself keeps what it was told."""
        persisted = self._progress.lanes.get(lane.assignment.lane)
        return lane.copied.source_epoch if persisted is None else persisted.source_epoch
