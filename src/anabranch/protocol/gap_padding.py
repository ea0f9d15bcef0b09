"""Filling the gaps of an identity lane: one empty transaction for each source offset without a record.

A marker takes one offset and no consumer sees it.  It is not conditional, as a batch is: written twice it takes
two.  So it is written through the transaction coordinator, under a transactional id that the lane's owners share:
raising that id's epoch waits for what is pending and fences every late request of earlier ones.  Then the log's
end says which offsets are still to be filled.

Invariants
    F1  nothing of the lane is in flight while a gap is filled, and nothing past a gap is sent before the log's
        end shows it filled.
    F2  the gap record over a gap is in the journal before its first marker is written: what the log's end says about
        the next record can be checked against it by every later owner.
    F3  an ownership raises the epoch before its first marker behind each record; so a marker is pending, whoever begun
        it, at the offset only where the next owner finds the same gap.
    F4  the gap records of an identity lane are a function of the source alone: one for each gap, with the gap's end as
        its ordinal (0 for the first).  Two owners that write the same one write the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.protocol.effects import (
    AppendGapRecords,
    EmptyTransaction,
    LogEnd,
    PaddingProducer,
    Pause,
    ReadEnd,
    StartPadding,
    Steps,
)
from anabranch.protocol.endings import Ending, OwnershipEnded, refusal
from anabranch.protocol.gap_records import GapRecord, OffsetSpan
from anabranch.protocol.ownership import Ownership
from anabranch.records.sequence import MODULUS, sequence_of

PADDING_BURST = 2_000
"""Offsets that are filled in one go: 40 s at 20 ms for each, while the lane stands still."""
PADDING_RATE = 20.0
"""Offsets a second that are filled for long: four tenths of a lane's time and of a coordinator's log."""
PADDING_S = 0.02
LOOKS = 1_500
LOOK_S = 0.004
_DENIED = {29, 31, 53}


@dataclass(frozen=True, slots=True)
class OffsetGap:
    """Offsets ``start`` to ``end`` of the source hold no record; the record at ``end`` will have ``sequence``."""

    start: int
    end: int
    sequence: int

    @property
    def length(self) -> int:
        """How many markers it takes."""
        return self.end - self.start


class PaddingBudget:
    """How many offsets a lane may fill: ``PADDING_BURST`` at once, ``PADDING_RATE`` a second for long.

    ``now`` is monotonic, in seconds.
    """

    __slots__ = ("_at", "_left")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left = float(PADDING_BURST)

    def take(self, gap: OffsetGap, missing: int, now: float) -> str:
        """Count a gap as filled; or say why the lane must be mapped instead.

        ``missing`` is an estimate of all offsets without a record up to the source's end, the gap's included.
        """
        self._left = min(float(PADDING_BURST), self._left + (now - self._at) * PADDING_RATE)
        self._at = now
        missing = max(missing, gap.length)
        if missing > self._left:
            about = "" if missing == gap.length else "about "
            return (
                f"the source log has {about}{missing:,} offsets without a record after offset {gap.start - 1:,}: "
                f"filling them would take {missing * PADDING_S:.0f} s"
            )
        self._left -= gap.length
        return ""


def padding_id(lane: str) -> str:
    """The transactional id that all owners of a lane fill its gaps under."""
    return f"anabranch.{lane}.fill"


def gap_records_over(ownership: Ownership, gap: OffsetGap, has_gap_record: bool) -> tuple[GapRecord, ...]:
    """The gap records that must be in the journal before a gap is filled (F4): the lane's beginning too, once.

    Empty where an earlier owner has written them.
    """
    if ownership.ahead == gap.end:
        return ()
    start, producer_id = ownership.claim.start, ownership.producer_id
    to = (OffsetSpan(gap.end, 1),)
    if gap.sequence == sequence_of(start) and gap.start - start < MODULUS:
        return (GapRecord(ownership.lane, producer_id, gap.sequence, 0, to),)
    gap_record = GapRecord(ownership.lane, producer_id, gap.sequence, gap.end, to)
    if has_gap_record:
        return (gap_record,)
    return GapRecord(ownership.lane, producer_id, sequence_of(start), 0, (OffsetSpan(start, 1),)), gap_record


def fill(ownership: Ownership, gap: OffsetGap, gap_records: tuple[GapRecord, ...]) -> Steps[None]:
    """Write ``gap_records``, then markers until the target log ends where the gap does.

    Returns once that end is replicated.  Raises OwnershipEnded on any doubt, and with NOT_IDENTITY where the target
    does not let the lane fill; LaneStopped where a broker refuses for good.
    """
    if gap_records and not (yield AppendGapRecords(gap_records)):
        raise OwnershipEnded(ownership.lane, Ending.JOURNAL, detail="it is not known whether a gap record was written")
    if not gap.length:
        return
    shared = padding_id(ownership.lane)
    padder: PaddingProducer = yield StartPadding(shared)
    if padder.code in _DENIED:
        why = f"the source log has a gap after offset {gap.start - 1:,}: "
        why += f"filling it needs WRITE on transactional id {shared}"
        raise OwnershipEnded(ownership.lane, Ending.NOT_IDENTITY, padder.code, why)
    if padder.code:
        raise refusal(ownership.lane, padder.code, gap.start, "starting to fill a gap")
    end = yield from _at_rest(ownership, gap.start, gap.end)
    while end < gap.end:
        code: int = yield EmptyTransaction(shared, padder)
        if code in _DENIED:
            raise OwnershipEnded(ownership.lane, Ending.NOT_IDENTITY, code, "the target refuses to fill a gap")
        if code:
            raise refusal(ownership.lane, code, gap.start, "filling a gap")
        end = yield from _at_rest(ownership, end + 1, end + 1)


def _at_rest(ownership: Ownership, least: int, most: int) -> Steps[int]:
    """The log's end once it has reached ``least`` and is replicated; past ``most`` somebody else has written."""
    for _ in range(LOOKS):
        end: LogEnd = yield ReadEnd()
        if end.end > most:
            raise OwnershipEnded(
                ownership.lane, Ending.BASE_OFFSET, detail=f"the target log ends at {end.end:,}, not {most:,}"
            )
        if end.end >= least and end.high_watermark == end.end:
            return end.end
        yield Pause("a marker is on its way", LOOK_S)
    raise OwnershipEnded(ownership.lane, Ending.UNSETTLED, detail=f"no marker at target offset {least - 1:,}")
