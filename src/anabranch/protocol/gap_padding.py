"""Filling the holes of an identity lane: one empty transaction for each source offset without a record.

A marker takes one offset and no consumer sees it.  It is not conditional, as a batch is: written twice it takes
two.  So it is written through the transaction coordinator, under a transactional id that the lane's owners share:
raising that id's epoch waits for what is pending and shuts out every late request of earlier ones.  Then the log's
end says which offsets are still to be filled.

Invariants
    F1  nothing of the lane is in flight while a hole is filled, and nothing past a hole is sent before the log's
        end shows it filled.
    F2  the jump over a hole is in the journal before its first marker is written: what the log's end says about the
        next record can be checked against it by every later owner.
    F3  a tenure raises the epoch before its first marker behind each record; so a marker is pending, whoever begun
        it, at the offset only where the next owner finds the same hole.
    F4  the jumps of an identity lane are a function of the source alone: one for each hole, with the hole's end as
        its ordinal (0 for the first).  Two owners that write the same one write the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.protocol.effects import AppendJumps, EmptyTransaction, Filler, LogEnd, Pause, ReadEnd, StartFiller, Steps
from anabranch.protocol.endings import Ending, TenureEnded, refusal
from anabranch.protocol.holes import Jump, Stretch
from anabranch.protocol.tenure import Tenure
from anabranch.records.sequence import MODULUS, sequence_of

FILL_BURST = 2_000
"""Offsets that are filled in one go: 40 s at 20 ms for each, while the lane stands still."""
FILL_RATE = 20.0
"""Offsets a second that are filled for long: four tenths of a lane's time and of a coordinator's log."""
FILL_S = 0.02
LOOKS = 1_500
LOOK_S = 0.004
_DENIED = {29, 31, 53}


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets ``start`` to ``end`` of the source hold no record; the record at ``end`` will have ``sequence``."""

    start: int
    end: int
    sequence: int

    @property
    def length(self) -> int:
        """How many markers it takes."""
        return self.end - self.start


class Budget:
    """How many offsets a lane may fill: ``FILL_BURST`` at once, ``FILL_RATE`` a second for long.

    ``now`` is monotonic, in seconds.
    """

    __slots__ = ("_at", "_left")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left = float(FILL_BURST)

    def take(self, hole: Hole, missing: int, now: float) -> str:
        """Count a hole as filled; or say why the lane must be mapped instead.

        ``missing`` is an estimate of all offsets without a record up to the source's end, the hole's included.
        """
        self._left = min(float(FILL_BURST), self._left + (now - self._at) * FILL_RATE)
        self._at = now
        missing = max(missing, hole.length)
        if missing > self._left:
            about = "" if missing == hole.length else "about "
            return (
                f"the source log has {about}{missing:,} offsets without a record behind offset {hole.start - 1:,}: "
                f"filling them would take {missing * FILL_S:.0f} s"
            )
        self._left -= hole.length
        return ""


def filler_id(lane: str) -> str:
    """The transactional id that all owners of a lane fill its holes under."""
    return f"anabranch.{lane}.fill"


def jumps_over(tenure: Tenure, hole: Hole, has_jumped: bool) -> tuple[Jump, ...]:
    """The jumps that must be in the journal before a hole is filled (F4): the lane's beginning too, once."""
    start, producer_id = tenure.claim.start, tenure.producer_id
    to = (Stretch(hole.end, 1),)
    if hole.sequence == sequence_of(start) and hole.start - start < MODULUS:
        return (Jump(tenure.lane, producer_id, hole.sequence, 0, to),)
    jump = Jump(tenure.lane, producer_id, hole.sequence, hole.end, to)
    if has_jumped:
        return (jump,)
    return Jump(tenure.lane, producer_id, sequence_of(start), 0, (Stretch(start, 1),)), jump


def fill(tenure: Tenure, hole: Hole, jumps: tuple[Jump, ...]) -> Steps[None]:
    """Write ``jumps``, then markers until the target log ends where the hole does.

    Returns once that end is replicated.  Raises TenureEnded on any doubt, and with NOT_IDENTITY where the target
    does not let the lane fill; LaneStopped where a broker refuses for good.
    """
    if jumps and not (yield AppendJumps(jumps)):
        raise TenureEnded(tenure.lane, Ending.JOURNAL, detail="it is not known whether a jump was written")
    if not hole.length:
        return
    shared = filler_id(tenure.lane)
    filler: Filler = yield StartFiller(shared)
    if filler.code in _DENIED:
        why = f"the source log has a hole behind offset {hole.start - 1:,}: "
        why += f"filling it needs WRITE on transactional id {shared}"
        raise TenureEnded(tenure.lane, Ending.NOT_IDENTITY, filler.code, why)
    if filler.code:
        raise refusal(tenure.lane, filler.code, hole.start, "starting to fill a hole")
    end = yield from _at_rest(tenure, hole.start, hole.end)
    while end < hole.end:
        code: int = yield EmptyTransaction(shared, filler)
        if code in _DENIED:
            raise TenureEnded(tenure.lane, Ending.NOT_IDENTITY, code, "the target refuses to fill a hole")
        if code:
            raise refusal(tenure.lane, code, hole.start, "filling a hole")
        end = yield from _at_rest(tenure, end + 1, end + 1)


def _at_rest(tenure: Tenure, least: int, most: int) -> Steps[int]:
    """The log's end once it has reached ``least`` and is replicated; past ``most`` somebody else has written."""
    for _ in range(LOOKS):
        end: LogEnd = yield ReadEnd()
        if end.end > most:
            raise TenureEnded(
                tenure.lane, Ending.BASE_OFFSET, detail=f"the target log ends at {end.end:,}, not {most:,}"
            )
        if end.end >= least and end.high_watermark == end.end:
            return end.end
        yield Pause("a marker is on its way", LOOK_S)
    raise TenureEnded(tenure.lane, Ending.UNSETTLED, detail=f"no marker at target offset {least - 1:,}")
