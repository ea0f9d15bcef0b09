"""The protocol of lanes with holes as it is, and the broken variants that the checker must find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.model.lane import LaneMode
from anabranch.offsets.runs import RunMap
from anabranch.protocol import (
    AppendClaim,
    Bid,
    Claim,
    ClaimState,
    Jump,
    JumpKey,
    JumpLog,
    Pipeline,
    ReadClaims,
    ReadEnd,
    ReadJumps,
    Tenure,
    takeover,
)
from anabranch.protocol.mapped import to_held
from anabranch.protocol.tail import Journal, read_tail
from anabranch.records.sequence import sequence_of

from .mutations import Batch, Mutation, Steps
from .world import LANE

if TYPE_CHECKING:
    from .hole_owner import Filing, HoleOwner, Queued
    from .owner import Owner


class HoleMutation(Mutation):
    """The protocol as implemented: every method does what the real worker does."""

    jumps_at_once = False
    fenced = True

    def read_jumps(self, owner: HoleOwner) -> JumpLog:  # type: ignore[override]
        return owner.world.jump_log()

    def runs_of_bid(self, owner: HoleOwner) -> RunMap:
        """The filed runs as a takeover reads them: after the jumps."""
        return owner.world.book

    def must_file(self, owner: HoleOwner, filed: RunMap, tenure: Tenure) -> bool:
        """Whether the runs are filed before anything is sent."""
        return filed.target_end > tenure.tail_end

    def waits(self, owner: HoleOwner, queued: Queued) -> bool:
        """Whether a batch still waits for its jump."""
        return queued.jump is not None and (queued.jump in owner.unwritten or queued.jump in owner.unanswered)

    def intended(self, owner: HoleOwner, jump: Jump) -> None:
        """A jump was handed to the journal's client."""

    def acknowledged(self, owner: HoleOwner, jump: Jump) -> None:
        """The journal has answered."""
        assert owner.pipeline is not None
        owner.pipeline.permit(jump)

    def may_forget(self, owner: HoleOwner, filing: Filing) -> bool:
        """Only what was filed longer ago than a takeover takes from its reading of the runs to that of the jumps."""
        return all(read_at > filing.filed_at for read_at in owner.world.bids.values())

    def superfluous(self, owner: HoleOwner, filing: Filing) -> list[JumpKey]:
        """The jumps that the owner forgets once its runs are filed."""
        assert filing.filed is not None
        log = owner.world.jump_log()
        found = list(log.passed(LANE, filing.producer_id, filing.filed[1]))
        if filing.filed[1] != filing.begun:
            for producer_id in filing.dead:
                found += log.passed(LANE, producer_id)
        return [jump.key for jump in found]


class PermitsUnacknowledged(HoleMutation):
    """H13: sends a batch while its jump is still on its way to the journal."""

    def waits(self, owner: HoleOwner, queued: Queued) -> bool:
        return False

    def intended(self, owner: HoleOwner, jump: Jump) -> None:
        assert owner.pipeline is not None
        owner.pipeline.permit(jump)

    def acknowledged(self, owner: HoleOwner, jump: Jump) -> None:
        pass


class JumpsAtOnce(HoleMutation):
    """H14: hands the journal a jump before the one before it is acknowledged, so that only the later may arrive."""

    jumps_at_once = True


class FixedId(HoleMutation):
    """H2: one producer id for all owners, no kill: the tail is read, and the broker alone decides."""

    producer_id = 7

    def takeover(self, owner: HoleOwner, bid: Bid) -> Steps:  # type: ignore[override]
        world = owner.world
        if not world.journal:
            world.append_claim(self._claim(bid))
        end = yield ReadEnd()
        jumps = yield ReadJumps(bid.lane)
        log = yield ReadClaims(bid.lane)
        tail = yield from read_tail(bid, Journal(log, jumps), end.high_watermark, frozenset())
        return Tenure(
            lane=bid.lane,
            mode=LaneMode.MAPPED,
            claim=self._claim(bid),
            claim_offset=0,
            leader_epoch=bid.leader_epoch,
            expiration_ms=bid.expiration_ms,
            position=tail.position,
            sequence=tail.sequence if tail.producer_id >= 0 else sequence_of(tail.position),
            tail_end=tail.target_end,
            target_end=end.end,
            last_timestamp=tail.last_timestamp,
            settled=frozenset(),
            why="",
            jumps=jumps.count(bid.lane, self.producer_id),
        )

    def _claim(self, bid: Bid) -> Claim:
        return Claim(
            bid.lane, self.producer_id, LaneMode.MAPPED, bid.owner, None, bid.now_ms, ClaimState.CLAIMED, bid.start, 0
        )


class JumpsBeforeKills(HoleMutation):
    """H15: tells the tail by the jumps as they were before the kills."""

    def takeover(self, owner: HoleOwner, bid: Bid) -> Steps:  # type: ignore[override]
        early = owner.world.jump_log()
        work = takeover(bid)
        answer = None
        while True:
            try:
                effect = work.send(answer)
            except StopIteration as finished:
                return finished.value
            answer = early if isinstance(effect, ReadJumps) else (yield effect)


class ForgetsNewest(HoleMutation):
    """H16: forgets all jumps of the ids that it shut out, the newest too."""

    def superfluous(self, owner: HoleOwner, filing: Filing) -> list[JumpKey]:
        dead = [key for key in owner.world.jumps if key.producer_id in filing.dead]
        return dead + super().superfluous(owner, filing)


class ForgetsAhead(HoleMutation):
    """H17: forgets the jump before one that may be void."""

    def superfluous(self, owner: HoleOwner, filing: Filing) -> list[JumpKey]:
        newest_not = owner.world.jump_log().passed(LANE, filing.producer_id)
        return [jump.key for jump in newest_not]


class ForgetsAtOnce(HoleMutation):
    """H23: forgets as soon as it has filed, while a takeover is under way that has read the runs before."""

    def may_forget(self, owner: HoleOwner, filing: Filing) -> bool:
        return True


class CutsLate(HoleMutation):
    """H18: sends before it has filed that the log was truncated, and believes runs read before the leader's epoch."""

    def must_file(self, owner: HoleOwner, filed: RunMap, tenure: Tenure) -> bool:
        return False


class RunsOfYesterday(HoleMutation):
    """H19: tells by runs that were read before the leader epoch was, in the owner's first takeover."""

    def runs_of_bid(self, owner: HoleOwner) -> RunMap:
        assert owner.early is not None
        return owner.early


class SequenceIsOffset(HoleMutation):
    """H20: stamps each batch with its source offset, as in a log without holes."""

    def stamp(self, owner: Owner, batch: Batch) -> tuple[int, int]:
        return 0, sequence_of(batch[1])


class ReclaimsAhead(HoleMutation):
    """H21: claims its id again although jumps were written for what was never sent."""

    def release(self, tenure: Tenure, pipeline: Pipeline) -> Steps:
        if not pipeline.clean:
            return None
        offset = yield AppendClaim(replace(tenure.claim, state=ClaimState.RELEASED))
        return None if offset is None else to_held(tenure)


class FilesUnfenced(HoleMutation):
    """H22: files over the runs of a later claim."""

    fenced = False
