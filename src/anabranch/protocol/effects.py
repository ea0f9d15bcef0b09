"""What a takeover asks of the world: frozen effects, and the values they are answered with.

A takeover is a generator: it yields an effect, is sent the answer, and returns a :class:`Ownership`.  Whoever
drives it keeps these promises:

- every effect on the partition is carried out on one connection to one leader, and carries the ownership's
  leader epoch in every request that has a field for it (ListOffsets v5+, OffsetForLeaderEpoch, Fetch);
- a follower answers Fetch and DescribeProducers without an error, so an answer counts only when a ListOffsets
  with the epoch was answered 0 on the same connection after it was asked for;
- a timeout, a broken connection or an error code is thrown into the generator, or simply raised, as the error
  that :func:`anabranch.protocol.endings.refusal` makes of it; only :class:`Fences` answers codes, and only
  :class:`AppendClaim` answers "unknown";
- journal appends are sent once, never again.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from anabranch.protocol.claims import Claim
from anabranch.protocol.gap_records import GapRecord


@dataclass(frozen=True, slots=True)
class AllocateProducerId:
    """Get a producer id that was never used on this partition; answered with :class:`Allocated`."""

    lane: str


@dataclass(frozen=True, slots=True)
class Allocated:
    """A fresh producer id at epoch 0; with a transactional id where fences must go through a coordinator."""

    producer_id: int
    transactional_id: str | None = None


@dataclass(frozen=True, slots=True)
class AppendClaim:
    """Append a claim to the journal with acks=all, tried once; answered with its offset, or None for unknown."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class ReadClaims:
    """Read the journal to its end as of now; answered with a :class:`~anabranch.protocol.claims.ClaimLog`."""

    lane: str


@dataclass(frozen=True, slots=True)
class ReadGapRecords:
    """Read the journal of gap records to its end as of now; answered with a
    :class:`~anabranch.protocol.gap_records.GapRecordLog`.
    """

    lane: str


@dataclass(frozen=True, slots=True)
class ReadMappedRanges:
    """Read the lane's persisted mapped ranges as of now; answered with an
    :class:`~anabranch.offsets.offset_map.OffsetMap`.

    Asked after the gap records were read, and only where one is forgotten: it was forgotten after ranges that were
    persisted. The map need not have more than what lies from target offset ``first`` on, to below ``end``.
    """

    lane: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class AppendFences:
    """Note in the journal where the markers of fences lie, as (producer id, target offset), so that later owners
    need not fence again; answered with None whatever became of it, for a note that is lost costs only a marker."""

    lane: str
    markers: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """Read both ends of the target partition; answered with :class:`LogEnd`."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The target log: first offset, high watermark (ListOffsets), true end (OffsetForLeaderEpoch)."""

    start: int
    high_watermark: int
    end: int


@dataclass(frozen=True, slots=True)
class EndOfEpoch:
    """Ask where a leader epoch ended in the log (OffsetForLeaderEpoch); answered with an offset."""

    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A marker that fences a producer id for good: by WriteTxnMarkers with producer epoch 32767, or, with a
    transactional id, by an empty transaction of a newer epoch."""

    producer_id: int
    transactional_id: str | None


@dataclass(frozen=True, slots=True)
class Fences:
    """Append the markers of some fences, all at once; answered with each one's error code of this partition.

    0 means: in the log of every in-sync replica.  ``FORGOTTEN``: the coordinator knows the transactional id no more.
    """

    fences: tuple[Fence, ...]


FORGOTTEN = -2
"""No code of Kafka's: what a coordinator has forgotten it cannot fence."""


@dataclass(frozen=True, slots=True)
class ReadMarkers:
    """Read what lies at some offsets below the high watermark, all at once; answered with each one's last batch that
    begins at or below it, or None, as :class:`ReadTail` would."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ForgetClaims:
    """Forget claims of which nothing is left in the target log; answered with None whatever became of it, for what is
    not forgotten now is forgotten by a later owner."""

    lane: str
    producer_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadTail:
    """Read the last batch that begins below an offset; answered with :class:`TailBatch`, or None if there is none.

    In a log without gaps that is the batch which contains ``below - 1``.
    """

    below: int


@dataclass(frozen=True, slots=True)
class TailBatch:
    """The header of one batch in the target log."""

    base_offset: int
    last_offset: int
    producer_id: int
    base_sequence: int
    is_control: bool
    max_timestamp: int

    @property
    def length(self) -> int:
        """How many offsets the batch takes, which is how many sequences it took when it was sent."""
        return self.last_offset - self.base_offset + 1


@dataclass(frozen=True, slots=True)
class DescribeProducer:
    """Ask the leader what it remembers of a producer id; answered with :class:`ProducerState`, or None."""

    producer_id: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A broker's state for one producer id on one partition; ``last_sequence`` is -1 after a marker."""

    epoch: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait a little, by default some hundred milliseconds, before looking again; answered with None."""

    why: str
    seconds: float = 0.1


@dataclass(frozen=True, slots=True)
class AppendGapRecords:
    """Append gap records to their journal, tried once; answered with True, or False where that is not known."""

    gap_records: tuple[GapRecord, ...]


@dataclass(frozen=True, slots=True)
class StartPadding:
    """Raise the epoch of a transactional id at its coordinator; answered with :class:`PaddingProducer`.

    Answered once nothing of an older epoch is on its way: what was begun is aborted, its markers are in the log.
    """

    transactional_id: str


@dataclass(frozen=True, slots=True)
class PaddingProducer:
    """Who may fill gaps by empty transactions: an error code, and where that is 0, a producer id and its epoch."""

    code: int
    producer_id: int = -1
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class EmptyTransaction:
    """Begin and abort a transaction without data on the partition; answered with an error code.

    0: its marker is on its way, or in the log.  What was fenced by a later ``StartPadding`` is refused.
    """

    transactional_id: str
    padder: PaddingProducer


Effect: TypeAlias = (
    AllocateProducerId
    | AppendClaim
    | AppendFences
    | ReadClaims
    | ReadGapRecords
    | ReadMappedRanges
    | ReadEnd
    | EndOfEpoch
    | ForgetClaims
    | Fences
    | ReadMarkers
    | ReadTail
    | DescribeProducer
    | AppendGapRecords
    | StartPadding
    | EmptyTransaction
    | Pause
)

T = TypeVar("T")
Steps: TypeAlias = Generator[Effect, Any, T]
