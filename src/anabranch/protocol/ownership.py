"""What an owner asks for, what it is given, and what it keeps between two leases."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.lane import LaneMode
from anabranch.protocol.claims import Claim


@dataclass(frozen=True, slots=True)
class Persisted:
    """The end of the lane's last persisted run: source and target offsets after it, and the epoch that acked it.

    ``leader_epoch`` is -1 where it is not known: the offsets then say where to look, and prove nothing.  ``known_to``
    is a target offset, at or past ``target_end``, up to which nothing else of the lane was in that epoch's log:
    an owner looked there when it took the lane over.  ``target_start`` is where that run begins in the target, -1 where
    it is not known.
    """

    source_end: int
    target_end: int
    leader_epoch: int
    known_to: int = -1
    target_start: int = -1

    @property
    def through(self) -> int:
        """The target offset below which the persisted runs tell of all that the lane wrote."""
        return max(self.target_end, self.known_to)


@dataclass(frozen=True, slots=True)
class ReportedPosition:
    """Where the lane stands as its progress was persisted: next source offset, and target offset after its last
    batch.
    """

    position: int
    target_end: int


@dataclass(frozen=True, slots=True)
class ReusableProducer:
    """A producer id that this process released after a clean ownership and may claim again.

    ``allocated_at_ms`` is when the process got it: a coordinator forgets an id in time, and can fence it no more.

    Lives in the memory of the process that released it and nowhere else; it is used up by one takeover.
    """

    producer_id: int
    transactional_id: str | None
    owner: str
    claim_offset: int
    claimed_at_ms: int
    allocated_at_ms: int
    leader_epoch: int
    settled: frozenset[int]


@dataclass(frozen=True, slots=True)
class TakeoverRequest:
    """Everything a takeover needs to know before it begins.

    ``mode`` is what is wanted; identity falls to mapped where it cannot be held, and the ownership says why.
    ``start`` is the source offset at which a lane that was never claimed starts.  ``leader_epoch`` is the one
    that every request of the takeover carries.  ``expiration_ms`` is the target's
    ``producer.id.expiration.ms``; ``now_ms`` the wall clock.  ``persisted`` is the last persisted run, None if none
    was. Where the target does not tell its expiration, ``expiration_ms`` is the longest possible, so that enough is
    fenced, and ``expiration_known`` is False, so that the ownership counts on no guard at all.
    ``longest_expiration_ms`` is the longest that this process was told: owners go by the one of when they began.
    ``why`` is the sentence shown where ``mode`` is mapped: a worker whose next batch is too old for identity says so.
    ``reported`` is what was persisted as progress, None if nothing was copied by then; ``source_end`` the end of the
    source's log, None where it was not asked for: both only tell which lap of 2^31 sequences the lane is in.
    ``begun_at`` is the source offset at which a person had this generation begin; what is persisted below is of the one
    before.  ``claims_deleted`` says that the first records of the journal are gone: a lane without a claim may have had
    one.
    """

    lane: str
    owner: str
    mode: LaneMode
    start: int
    leader_epoch: int
    expiration_ms: int
    now_ms: int
    persisted: Persisted | None = None
    reusable: ReusableProducer | None = None
    expiration_known: bool = True
    longest_expiration_ms: int = 0
    why: str = "the link asks for mapped lanes"
    reported: ReportedPosition | None = None
    source_end: int | None = None
    begun_at: int = -1
    claims_deleted: bool = False

    @property
    def history(self) -> int | None:
        """The source offset up to which something of this generation was persisted; None where nothing was."""
        ends = [] if self.persisted is None else [self.persisted.source_end]
        ends += [] if self.reported is None else [self.reported.position]
        return max((end for end in ends if end > self.begun_at), default=None)

    @property
    def over_ms(self) -> int:
        """The longest expiration that an earlier owner may go by, in ms: claims that are over are so by this one."""
        return max(self.expiration_ms, self.longest_expiration_ms)

    @property
    def guard_ms(self) -> int:
        """For how long the target surely remembers a producer id, in ms; 0 where it does not tell."""
        return self.expiration_ms if self.expiration_known else 0


@dataclass(frozen=True, slots=True)
class Ownership:
    """One ownership of a lane: a producer id, on one connection to one leader in one leader epoch.

    ``position`` is the next source offset to copy, ``sequence`` the one it is sent under.  ``tail_end`` is the
    target offset after the lane's last batch: whatever an earlier ownership persisted at or past it was truncated, and
    is void.  ``target_end`` is where the next batch lands if nobody else writes.  ``last_timestamp`` is the
    maximum timestamp of the lane's last batch, None where there is none.  ``settled`` are the producer ids that
    were fenced on this leader epoch.  ``expiration_ms`` is what the guard may count on, 0 if unknown.
    ``allocated_at_ms`` is when its process got the producer id.  ``gap_records`` is the ordinal of the producer id's
    next gap record.  ``why`` says in a sentence why the lane has its mode.  ``is_replaced`` says that what is persisted
    of the offset map tells of a log that an unclean election took.

    An identity lane may have two things to do before the next record.  Where ``position`` is below the claim's
    ``start``, the head of the target log must be padded up to there.  ``ahead`` is the source offset of the next
    record where a gap record to it is in the journal already, -1 where none is; ``gap_record_at`` that of the newest
    gap record.
    """

    lane: str
    mode: LaneMode
    claim: Claim
    claim_offset: int
    leader_epoch: int
    expiration_ms: int
    position: int
    sequence: int
    tail_end: int
    target_end: int
    last_timestamp: int | None
    settled: frozenset[int]
    why: str
    allocated_at_ms: int = 0
    gap_records: int = 0
    ahead: int = -1
    gap_record_at: int = -1
    is_replaced: bool = False

    @property
    def is_padded(self) -> bool:
        """Whether the target log has reached the lane's start; records may be sent only then."""
        return self.mode is LaneMode.MAPPED or self.position >= self.claim.start

    @property
    def producer_id(self) -> int:
        """The id to send under, at epoch 0."""
        return self.claim.producer_id
