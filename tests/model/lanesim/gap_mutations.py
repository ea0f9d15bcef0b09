"""The protocol of lanes with gaps as it is, and the broken variants that the checker must find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol import (
    AppendClaim,
    Claim,
    ClaimState,
    GapRecord,
    GapRecordKey,
    GapRecordLog,
    Ownership,
    Pipeline,
    ReadClaims,
    ReadEnd,
    ReadGapRecords,
    TakeoverRequest,
    takeover,
)
from anabranch.protocol.mapped import to_held
from anabranch.protocol.tail import JournalView, read_tail
from anabranch.records.sequence import sequence_of

from .mutations import Batch, Mutation, Steps
from .world import LANE

if TYPE_CHECKING:
    from .gap_owner import GapOwner, Persisting, Queued
    from .owner import Owner


class GapMutation(Mutation):
    """The protocol as implemented: every method does what the real worker does."""

    gap_records_at_once = False
    fenced = True

    def read_gap_records(self, owner: GapOwner) -> GapRecordLog:  # type: ignore[override]
        return owner.world.gap_record_log()

    def ranges_of_request(self, owner: GapOwner) -> OffsetMap:
        """The persisted runs as a takeover reads them: after the gap records."""
        return owner.world.book

    def must_file(self, owner: GapOwner, persisted: OffsetMap, ownership: Ownership) -> bool:
        """Whether the runs are persisted before anything is sent."""
        return persisted.target_end > ownership.tail_end

    def waits(self, owner: GapOwner, queued: Queued) -> bool:
        """Whether a batch still waits for its gap record."""
        return queued.gap_record is not None and (
            queued.gap_record in owner.unwritten or queued.gap_record in owner.unanswered
        )

    def intended(self, owner: GapOwner, gap_record: GapRecord) -> None:
        """A gap record was handed to the journal's client."""

    def acknowledged(self, owner: GapOwner, gap_record: GapRecord) -> None:
        """The journal has answered."""
        assert owner.pipeline is not None
        owner.pipeline.permit(gap_record)

    def may_forget(self, owner: GapOwner, persisting: Persisting) -> bool:
        """Only what was persisted longer ago than a takeover takes from its reading of the runs to that of the gap
        records.
        """
        return all(read_at > persisting.persisted_at for read_at in owner.world.bids.values())

    def superfluous(self, owner: GapOwner, persisting: Persisting) -> list[GapRecordKey]:
        """The gap records that the owner forgets once its runs are persisted."""
        assert persisting.persisted is not None
        log = owner.world.gap_record_log()
        found = list(log.passed(LANE, persisting.producer_id, persisting.persisted[1]))
        if persisting.persisted[1] != persisting.begun:
            for producer_id in persisting.dead:
                found += log.passed(LANE, producer_id)
        return [gap_record.key for gap_record in found]


class PermitsUnacknowledged(GapMutation):
    """H13: sends a batch while its gap record is still on its way to the journal."""

    def waits(self, owner: GapOwner, queued: Queued) -> bool:
        return False

    def intended(self, owner: GapOwner, gap_record: GapRecord) -> None:
        assert owner.pipeline is not None
        owner.pipeline.permit(gap_record)

    def acknowledged(self, owner: GapOwner, gap_record: GapRecord) -> None:
        pass


class JumpsAtOnce(GapMutation):
    """H14: hands the journal a gap record before the one before it is acknowledged, so that only the later may
    arrive.
    """

    gap_records_at_once = True


class FixedId(GapMutation):
    """H2: one producer id for all owners, no kill: the tail is read, and the broker alone decides."""

    producer_id = 7

    def takeover(self, owner: GapOwner, request: TakeoverRequest) -> Steps:  # type: ignore[override]
        world = owner.world
        if not world.journal:
            world.append_claim(self._claim(request))
        end = yield ReadEnd()
        gap_records = yield ReadGapRecords(request.lane)
        log = yield ReadClaims(request.lane)
        tail = yield from read_tail(request, JournalView(log, gap_records), end.high_watermark, frozenset())
        return Ownership(
            lane=request.lane,
            mode=LaneMode.MAPPED,
            claim=self._claim(request),
            claim_offset=0,
            leader_epoch=request.leader_epoch,
            expiration_ms=request.expiration_ms,
            position=tail.position,
            sequence=tail.sequence if tail.producer_id >= 0 else sequence_of(tail.position),
            tail_end=tail.target_end,
            target_end=end.end,
            last_timestamp=tail.last_timestamp,
            settled=frozenset(),
            why="",
            gap_records=gap_records.count(request.lane, self.producer_id),
        )

    def _claim(self, request: TakeoverRequest) -> Claim:
        return Claim(
            request.lane,
            self.producer_id,
            LaneMode.MAPPED,
            request.owner,
            None,
            request.now_ms,
            ClaimState.CLAIMED,
            request.start,
            0,
        )


class JumpsBeforeKills(GapMutation):
    """H15: tells the tail by the gap records as they were before the kills."""

    def takeover(self, owner: GapOwner, request: TakeoverRequest) -> Steps:  # type: ignore[override]
        early = owner.world.gap_record_log()
        work = takeover(request)
        answer = None
        while True:
            try:
                effect = work.send(answer)
            except StopIteration as finished:
                return finished.value
            answer = early if isinstance(effect, ReadGapRecords) else (yield effect)


class ForgetsNewest(GapMutation):
    """H16: forgets all gap records of the ids that it shut out, the newest too."""

    def superfluous(self, owner: GapOwner, persisting: Persisting) -> list[GapRecordKey]:
        dead = [key for key in owner.world.gap_records if key.producer_id in persisting.dead]
        return dead + super().superfluous(owner, persisting)


class ForgetsAhead(GapMutation):
    """H17: forgets the gap record before one that may be void."""

    def superfluous(self, owner: GapOwner, persisting: Persisting) -> list[GapRecordKey]:
        newest_not = owner.world.gap_record_log().passed(LANE, persisting.producer_id)
        return [gap_record.key for gap_record in newest_not]


class ForgetsAtOnce(GapMutation):
    """H23: forgets as soon as it has persisted, while a takeover is under way that has read the runs before."""

    def may_forget(self, owner: GapOwner, persisting: Persisting) -> bool:
        return True


class CutsLate(GapMutation):
    """H18: sends before it has persisted that the log was truncated, and believes runs read before the leader's
    epoch.
    """

    def must_file(self, owner: GapOwner, persisted: OffsetMap, ownership: Ownership) -> bool:
        return False


class RangesOfYesterday(GapMutation):
    """H19: tells by runs that were read before the leader epoch was, in the owner's first takeover."""

    def ranges_of_request(self, owner: GapOwner) -> OffsetMap:
        assert owner.early is not None
        return owner.early


class SequenceIsOffset(GapMutation):
    """H20: stamps each batch with its source offset, as in a log without gaps."""

    def stamp(self, owner: Owner, batch: Batch) -> tuple[int, int]:
        return 0, sequence_of(batch[1])


class ReclaimsAhead(GapMutation):
    """H21: claims its id again although gap records were written for what was never sent."""

    def release(self, ownership: Ownership, pipeline: Pipeline) -> Steps:
        if not pipeline.clean:
            return None
        offset = yield AppendClaim(replace(ownership.claim, state=ClaimState.RELEASED))
        return None if offset is None else to_held(ownership)


class FilesUnfenced(GapMutation):
    """H22: files over the runs of a later claim."""

    fenced = False
