"""What lies of a lane on the target, as far as this worker knows: written by takeovers and acknowledgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.copier.lane.tally import Tally
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.ownership import Ownership
from anabranch.state.segments.index import OffsetMapIndex


@dataclass(slots=True)
class CopiedRecords:
    """How far the lane came on both sides, its offset map, and how much that was.

    ``position`` is the source offset after the last record copied.  ``target_start`` is the first offset of the
    target's log, as this ownership was told, -1 before; ``target_end`` the target offset after the last record.
    ``acknowledged_epoch`` is the target's leader epoch that acknowledged it.  ``source_epoch`` and ``target_epoch``
    are (offset, leader epoch) as they were persisted last.  ``target_gap`` are target offsets that an acknowledgement
    left out and nobody has looked at.  ``passed`` are source offsets [start, end) that were read behind the last record
    and hold nothing to copy.  ``is_map_incomplete``: not all that was persisted of the offset map was read.
    """

    position: int = 0
    target_start: int = -1
    target_end: int = 0
    acknowledged_epoch: int = -1
    source_epoch: tuple[int, int] | None = None
    target_epoch: tuple[int, int] | None = None
    target_gap: tuple[int, int] | None = None
    passed: tuple[int, int] = (0, 0)
    book: OffsetMapIndex = field(default_factory=OffsetMapIndex)
    is_map_incomplete: bool = False
    tally: Tally = field(default_factory=Tally)

    def begin(self, ownership: Ownership) -> None:
        """A takeover has read how far the target's log goes."""
        self.position = ownership.position
        if self.position < self.passed[0]:
            self.passed = (0, 0)  # the target has lost records
        self.target_start, self.target_end = -1, ownership.target_end
        self.acknowledged_epoch = ownership.leader_epoch  # the takeover has found it all in this epoch's log
        if self.book.last is not None and ownership.tail_end < ownership.target_end:
            self.target_gap = (ownership.tail_end, ownership.target_end)

    def add(self, ranges: Sequence[MappedRange], size: int) -> None:
        """A batch was acknowledged; raises RangeOrderError."""
        if ranges[0].target > self.target_end and self.target_gap is None:
            self.target_gap = (self.target_end, ranges[0].target)
        for mapped in ranges:
            self.book.append(mapped)
            self.tally.records += mapped.length
        self.position = self.tally.counted_to = ranges[-1].source_end
        self.target_end = ranges[-1].target_end
        self.tally.bytes += size

    def note_passed(self, start: int, end: int) -> None:
        """These source offsets hold nothing to copy; what is known of a later position stays."""
        self.passed = max(self.passed, (start, end))

    def has_passed(self, end: int) -> bool:
        """Whether nothing to copy lies between the position and this source offset, as far as was read before."""
        return self.passed[0] == self.position and end <= self.passed[1]

    def filled(self, end: int) -> None:
        """An identity lane's target log ends here now, where its next record belongs."""
        self.position = self.target_end = end
