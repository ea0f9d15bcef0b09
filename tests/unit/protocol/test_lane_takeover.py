"""Takeover and release, effect by effect, against a scripted target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.protocol import (
    Allocated,
    AllocateProducerId,
    AppendClaim,
    AppendFences,
    Claim,
    ClaimLog,
    ClaimState,
    DescribeProducer,
    Ending,
    EndOfEpoch,
    FenceKey,
    Fences,
    ForgetClaims,
    GapRecord,
    GapRecordLog,
    LaneStopped,
    LogEnd,
    Ownership,
    OwnershipEnded,
    Pause,
    Persisted,
    Pipeline,
    ProducerState,
    ReadClaims,
    ReadEnd,
    ReadGapRecords,
    ReadMappedRanges,
    ReadMarkers,
    ReadTail,
    ReportedPosition,
    Stop,
    TailBatch,
    TakeoverRequest,
    release,
    takeover,
)
from anabranch.protocol.effects import FORGOTTEN
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.guard import MARGIN_MS

pytestmark = pytest.mark.unit

NOW = 1_700_000_000_000
E = 86_400_000


def data(base: int, count: int, producer_id: int, sequence: int, timestamp: int = NOW) -> TailBatch:
    """A batch of records."""
    return TailBatch(base, base + count - 1, producer_id, sequence, False, timestamp)


def marker(base: int, producer_id: int) -> TailBatch:
    """A control batch."""
    return TailBatch(base, base, producer_id, -1, True, NOW)


@dataclass
class Target:
    """A target that does what it is asked and writes down what that was."""

    log: list[TailBatch] = field(default_factory=list)
    journal: list[Claim] = field(default_factory=list)
    gap_records: list[GapRecord] = field(default_factory=list)
    ranges: tuple[MappedRange, ...] = ()
    fences: dict[int, int] = field(default_factory=dict)
    start: int = 0
    lag: int = 0
    fence_code: int = 0
    lose_appends: int = 0
    forget_markers: bool = False
    entries: dict[int, ProducerState] = field(default_factory=dict)
    kept: int = 0
    asked: list[Any] = field(default_factory=list)
    next_id: int = 100

    @property
    def end(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else self.start

    def run(self, steps: Any) -> Any:
        """Drive a generator to its end."""
        answer = None
        while True:
            try:
                effect = steps.send(answer)
            except StopIteration as done:
                return done.value
            self.asked.append(effect)
            answer = self.perform(effect)

    def perform(self, effect: Any) -> Any:
        match effect:
            case ReadEnd():
                return LogEnd(self.start, self.end - self.lag, self.end)
            case ReadClaims():
                claims = ClaimLog((i, c.key, c) for i, c in enumerate(self.journal))
                for at, (producer_id, offset) in enumerate(self.fences.items()):
                    claims.apply_fence(len(self.journal) + at, FenceKey("t-0", producer_id), offset)
                return claims
            case ReadGapRecords():
                return GapRecordLog((i, j.key, j) for i, j in enumerate(self.gap_records))
            case ReadMappedRanges(_, first, end):
                return OffsetMap.of(one for one in self.ranges if one.target < end and first < one.target_end)
            case AppendFences(_, markers):
                self.fences.update(markers)
                return None
            case AllocateProducerId():
                self.next_id += 1
                return Allocated(self.next_id)
            case AppendClaim(claim):
                if self.lose_appends:
                    self.lose_appends -= 1
                    return None
                self.journal.append(claim)
                return len(self.journal) - 1
            case Fences(fences):
                for fence in fences:
                    if not self.fence_code and not self.forget_markers:
                        self.log.append(marker(self.end, fence.producer_id))
                return (self.fence_code,) * len(fences)
            case ReadMarkers(offsets):
                if min(offsets) < self.start:
                    raise OwnershipEnded("t-0", Ending.UNSETTLED, 1)
                return tuple(self._last(offset + 1) for offset in offsets)
            case ForgetClaims(_, producer_ids):
                self.journal = [one for one in self.journal if one.producer_id not in producer_ids]
                return None
            case ReadTail(below):
                return self._last(below)
            case DescribeProducer(producer_id):
                return self.entries.get(producer_id)
            case EndOfEpoch():
                return self.kept
            case Pause():
                self.lag = 0
                return None
        raise AssertionError(effect)

    def _last(self, below: int) -> TailBatch | None:
        if below - 1 > self.end:
            raise OwnershipEnded("t-0", Ending.UNSETTLED, 1)
        return next((b for b in reversed(self.log) if b.base_offset < below), None)

    @property
    def fenced(self) -> list[int]:
        """Who was asked to be fenced."""
        return [fence.producer_id for effect in self.asked if isinstance(effect, Fences) for fence in effect.fences]


def request(**changes: Any) -> TakeoverRequest:
    """What this worker asks for."""
    wish: dict[str, Any] = {
        "lane": "t-0",
        "owner": "me",
        "mode": LaneMode.MAPPED,
        "start": 50,
        "leader_epoch": 4,
        "expiration_ms": E,
        "now_ms": NOW,
    }
    return TakeoverRequest(**{**wish, **changes})


def claim(
    producer_id: int, mode: LaneMode = LaneMode.MAPPED, state: ClaimState = ClaimState.CLAIMED, floor: int = 0
) -> Claim:
    """An earlier owner's claim."""
    return Claim("t-0", producer_id, mode, "other", None, NOW, state, 50, floor)


def test_a_lane_never_claimed_starts_at_its_start() -> None:
    """Nothing to fence, nothing to find."""
    target = Target(log=[data(0, 5, 77, 0)])
    ownership = target.run(takeover(request()))
    assert (ownership.position, ownership.sequence, ownership.target_end, ownership.producer_id) == (50, 50, 5, 101)
    assert target.journal[0].floor == 5 and not target.fenced


def test_the_position_is_read_after_every_earlier_claim_is_fenced() -> None:
    """Control batches and strangers are passed over on the way back."""
    target = Target([data(0, 3, 1, 50), data(3, 2, 2, 53), data(5, 1, 77, 0)], [claim(1), claim(2)])
    ownership = target.run(takeover(request()))
    assert target.fenced == [1, 2]
    first_look = next(i for i, e in enumerate(target.asked) if isinstance(e, ReadTail))
    assert first_look > max(i for i, e in enumerate(target.asked) if isinstance(e, Fences))
    assert (ownership.position, ownership.tail_end, ownership.target_end) == (55, 5, 8)
    assert ownership.settled == {1, 2}


def test_an_expiration_that_is_not_told_fences_by_the_longest_and_guards_by_none() -> None:
    """Unknown is the safe side of both."""
    target = Target([data(0, 3, 1, 50)], [claim(1)])
    ownership = target.run(takeover(request(expiration_ms=2**31 - 1, expiration_known=False)))
    assert ownership.settled == {1} and ownership.expiration_ms == 0
    pipeline = Pipeline(ownership, sole_writer=True, wall_ms=lambda: NOW)
    pipeline.send((OffsetSpan(53, 1),), NOW)
    pipeline.acknowledge(0, ownership.target_end)
    assert pipeline.room() == 1


@pytest.mark.parametrize(("longest", "fenced"), [(0, []), (7 * E, [1])])
def test_an_owner_of_a_longer_expiration_is_shut_out_though_the_present_one_is_over(
    longest: int, fenced: list[int]
) -> None:
    """The expiration was lowered while it copies: it goes by the one of when it began (A1)."""
    old = replace(claim(1), claimed_at_ms=NOW - 3 * E)
    target = Target([data(0, 3, 1, 50)], [old])
    target.run(takeover(request(longest_expiration_ms=longest)))
    assert target.fenced == fenced


@pytest.mark.parametrize(("hours", "left"), [(30, "in 18 h"), (47, "in 1 h"), (48, ""), (9 * 24, "")])
@pytest.mark.parametrize(("expiration", "known"), [(E // 24, True), (E, True), (24 * E, True), (24 * E, False)])
def test_an_owner_whom_the_coordinator_has_forgotten_is_waited_out_by_one_rule(
    hours: int, left: str, expiration: int, known: bool
) -> None:
    """Whatever the target's expiration is, or was when that owner began: it writes for a day at most."""
    old = replace(claim(1), claimed_at_ms=NOW - hours * E // 24, transactional_id="t")
    target = Target([data(0, 3, 1, 50)], [old], fence_code=FORGOTTEN)
    asked = request(expiration_ms=expiration, expiration_known=known, longest_expiration_ms=24 * E)
    if not left:
        assert target.run(takeover(asked)).position == 53
        return
    with pytest.raises(LaneStopped) as stopped:
        target.run(takeover(asked))
    assert stopped.value.reason is Stop.OWNER_FORGOTTEN
    assert left in stopped.value.message


def test_a_released_claim_is_not_fenced() -> None:
    """A clean end costs no offset."""
    target = Target([data(0, 3, 1, 50)], [claim(1, state=ClaimState.RELEASED)])
    assert target.run(takeover(request())).position == 53
    assert not target.fenced


def test_an_append_of_unknown_outcome_throws_the_producer_id_away() -> None:
    """It may land later, and is fenced then."""
    target = Target(lose_appends=2)
    assert target.run(takeover(request())).producer_id == 103


def test_a_producer_id_that_the_lane_has_had_before_is_not_claimed() -> None:
    """Its batches in the log would be taken for the new owner's, so another one is asked for."""
    target = Target(journal=[claim(101), claim(102, state=ClaimState.RELEASED)])
    ownership = target.run(takeover(request()))
    assert (ownership.producer_id, [one.producer_id for one in target.journal]) == (103, [101, 102, 103])
    exhausted = Target(journal=[claim(at) for at in range(101, 106)])
    with pytest.raises(OwnershipEnded) as ended:
        exhausted.run(takeover(request()))
    assert ended.value.reason is Ending.JOURNAL and len(exhausted.journal) == 5


def test_a_log_whose_end_is_never_replicated_ends_the_takeover() -> None:
    """What lies past the high watermark cannot be read, and may hold the lane's last batch."""

    class Stuck(Target):
        def perform(self, effect: Any) -> Any:
            return None if isinstance(effect, Pause) else super().perform(effect)

    target = Stuck([data(0, 3, 1, 50)], [claim(1)], lag=1)
    with pytest.raises(OwnershipEnded) as ended:
        target.run(takeover(request()))
    assert ended.value.reason is Ending.UNSETTLED
    assert not any(isinstance(effect, ReadTail) for effect in target.asked)


def test_a_producer_id_whose_batches_behind_a_gap_record_are_gone_is_not_written_under_again() -> None:
    """Its sequences behind the gap record have a meaning already."""
    target = Target()
    reusable = reusable_after(target)
    target.gap_records = [GapRecord("t-0", reusable.producer_id, 50, 0, (OffsetSpan(60, 1),))]
    with pytest.raises(OwnershipEnded) as ended:
        target.run(takeover(request(reusable=reusable)))
    assert ended.value.reason is Ending.OUT_OF_ORDER and "producer id 101 has a gap record" in ended.value.detail
    target.log.append(data(0, 2, reusable.producer_id, 50))
    ownership = target.run(takeover(request(reusable=replace(reusable, claim_offset=len(target.journal) - 1))))
    assert ownership.position == 62


def test_a_journal_that_cannot_be_written_ends_the_takeover() -> None:
    """Bounded attempts."""
    with pytest.raises(OwnershipEnded) as ended:
        Target(lose_appends=99).run(takeover(request()))
    assert ended.value.reason is Ending.JOURNAL


@pytest.mark.parametrize(
    ("code", "kind"), [(6, OwnershipEnded), (7, OwnershipEnded), (19, OwnershipEnded), (31, LaneStopped)]
)
def test_a_fence_that_is_not_acknowledged_ends_the_takeover(code: int, kind: type[Exception]) -> None:
    """Never go on past an owner that may still write."""
    with pytest.raises(kind):
        Target(journal=[claim(1)], fence_code=code).run(takeover(request()))


def test_an_acknowledged_fence_that_is_not_in_the_log_ends_the_takeover() -> None:
    """The log was truncated since."""
    with pytest.raises(OwnershipEnded) as ended:
        Target([data(0, 3, 1, 50)], [claim(1)], forget_markers=True).run(takeover(request()))
    assert ended.value.reason is Ending.FENCE_MISSING


@pytest.mark.parametrize(("age_ms", "fences"), [(0, []), (E - MARGIN_MS - 1, []), (E - MARGIN_MS, [1]), (2 * E, [1])])
def test_a_noted_fence_proves_what_the_target_still_remembers(age_ms: int, fences: list[int]) -> None:
    """A producer id that the target has forgotten is refused nothing: its owner is fenced again."""
    log = [data(0, 3, 1, 50), replace(marker(3, 1), max_timestamp=NOW - age_ms)]
    target = Target(log, [claim(1)], fences={1: 3})
    assert target.run(takeover(request())).position == 53
    assert target.fenced == fences


def test_a_noted_fence_that_retention_took_is_made_again() -> None:
    """Below the log's start a broker answers with an error, each time."""
    target = Target([data(5, 3, 1, 50), marker(8, 1)], [claim(1)], fences={1: 3}, start=5)
    assert target.run(takeover(request())).position == 53
    assert target.fenced == [1]


def test_an_owner_that_is_succeeded_while_it_claims_shuts_nobody_out() -> None:
    """It would fence its successor, which has read the log already."""

    class Raced(Target):
        def perform(self, effect: Any) -> Any:
            answer = super().perform(effect)
            if isinstance(effect, AppendClaim):
                self.journal.append(claim(9))
            return answer

    target = Raced([data(0, 3, 1, 50)], [claim(1)])
    with pytest.raises(OwnershipEnded) as ended:
        target.run(takeover(request()))
    assert (ended.value.reason, ended.value.detail) == (Ending.SUPERSEDED, "other")
    assert not target.fenced


@pytest.mark.parametrize("shown", [0, 1])
def test_a_claim_that_the_journal_does_not_show_ends_the_takeover(shown: int) -> None:
    """Whoever reads an old journal does not know who else has claimed."""

    class Behind(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, ReadClaims) and len(self.journal) > 1:
                return ClaimLog((i, c.key, c) for i, c in enumerate(self.journal[:shown]))
            return super().perform(effect)

    with pytest.raises(OwnershipEnded) as ended:
        Behind([data(0, 3, 1, 50)], [claim(1)]).run(takeover(request()))
    assert ended.value.reason is Ending.JOURNAL and "not read back" in ended.value.detail


def test_a_claim_again_that_the_journal_shows_only_as_it_was_before_ends_the_takeover() -> None:
    """The record of the same producer id is there, but it is the older one."""

    class Behind(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, ReadClaims) and len(self.journal) > 2:
                return ClaimLog((i, c.key, c) for i, c in enumerate(self.journal[:2]))
            return super().perform(effect)

    target = Behind()
    reusable = reusable_after(target)
    with pytest.raises(OwnershipEnded) as ended:
        target.run(takeover(request(reusable=reusable)))
    assert ended.value.reason is Ending.JOURNAL


@pytest.mark.parametrize("starts", [(50, 70), (70, 50)])
def test_a_lane_begins_where_the_lowest_of_its_claims_says(starts: tuple[int, int]) -> None:
    """Whatever a later owner takes for the start, as with a lane that begins at the latest record."""
    target = Target(journal=[replace(claim(at), start=start) for at, start in enumerate(starts)])
    ownership = target.run(takeover(request(start=90)))
    assert (ownership.position, target.journal[-1].start) == (50, 50)


@pytest.mark.parametrize("noted", [2, 3, 4, 400])
def test_a_noted_fence_that_the_log_has_lost_is_made_again(noted: int) -> None:
    """An unclean election took its marker: the owner is fenced again, also where the log ends before it."""
    target = Target([data(0, 3, 1, 50)], [claim(1)], fences={1: noted})
    assert target.run(takeover(request())).position == 53
    assert target.fenced == [1]


def test_the_tail_is_read_only_when_all_of_it_is_replicated() -> None:
    """A read ends at the high watermark."""
    target = Target([data(0, 3, 1, 50)], [claim(1)], lag=2)
    assert target.run(takeover(request())).position == 53
    assert any(isinstance(e, Pause) for e in target.asked)


def test_batches_that_do_not_follow_each_other_stop_the_lane() -> None:
    """A gap in the copy is named, not papered over."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 3, 1, 50), data(3, 2, 1, 55)], [claim(1)]).run(takeover(request()))
    assert stopped.value.reason is Stop.DIVERGED and stopped.value.offset == 53


def test_a_deleted_log_gives_the_persisted_position_where_that_is_exact() -> None:
    """The log still begins at or below the end of the last persisted run, in an epoch that was not cut."""
    target = Target(journal=[claim(1)], start=30, kept=30)
    assert target.run(takeover(request(persisted=Persisted(80, 30, 3)))).position == 80


@pytest.mark.parametrize(
    ("start", "kept", "persisted"), [(31, 40, Persisted(80, 30, 3)), (30, 29, Persisted(80, 30, 3)), (30, 30, None)]
)
def test_a_deleted_log_without_an_exact_position_stops_the_lane(
    start: int, kept: int, persisted: Persisted | None
) -> None:
    """Never guess: records between the persisted end and the log's start, a truncation, or nothing persisted."""
    with pytest.raises(LaneStopped) as stopped:
        Target(journal=[claim(1)], start=start, kept=kept).run(takeover(request(persisted=persisted)))
    assert stopped.value.reason is Stop.POSITION_LOST


def test_a_truncated_log_that_lost_all_of_the_lane_starts_over() -> None:
    """Nothing was deleted from the head, so nothing is missing but what was cut."""
    target = Target(journal=[claim(1, floor=8)], start=5)
    ownership = target.run(takeover(request(persisted=Persisted(80, 30, 3))))
    assert ownership.position == 50 and ownership.tail_end == 5


def reusable_after(target: Target) -> Any:
    """An ownership that copied nothing and was released."""
    ownership = target.run(takeover(request()))
    return target.run(release(ownership, Pipeline(ownership, sole_writer=True, wall_ms=lambda: NOW)))


def test_a_released_producer_id_is_claimed_again_by_its_process() -> None:
    """No fresh id, no fence, but the tail is read."""
    target = Target([data(0, 3, 1, 50)], [claim(1)])
    reusable = reusable_after(target)
    fenced = len(target.fenced)
    ownership = target.run(takeover(request(reusable=reusable)))
    assert ownership.producer_id == reusable.producer_id == 101 and ownership.position == 53
    assert len(target.fenced) == fenced


@pytest.mark.parametrize("what", ["claimed since", "other epoch", "too old", "other process"])
def test_a_held_producer_id_is_thrown_away_where_anything_happened(what: str) -> None:
    """Then a fresh one is claimed."""
    target = Target()
    reusable = reusable_after(target)
    changes: dict[str, Any] = {
        "claimed since": {},
        "other epoch": {"leader_epoch": 5},
        "too old": {"now_ms": NOW + E},
        "other process": {"owner": "twin"},
    }[what]
    if what == "claimed since":
        target.journal.append(claim(7, state=ClaimState.RELEASED))
    assert target.run(takeover(request(reusable=reusable, **changes))).producer_id == 102


def test_a_release_of_unknown_outcome_is_not_claimed_again() -> None:
    """It may land after the next claim and hide it."""
    target = Target()
    ownership = target.run(takeover(request()))
    target.lose_appends = 1
    assert target.run(release(ownership, Pipeline(ownership, sole_writer=True, wall_ms=lambda: NOW))) is None


def test_an_ownership_with_batches_in_doubt_is_not_released() -> None:
    """The next owner must fence it."""
    target = Target()
    ownership = target.run(takeover(request()))
    pipeline = Pipeline(ownership, sole_writer=True, wall_ms=lambda: NOW)
    pipeline.send((OffsetSpan(50, 1),), NOW)
    assert target.run(release(ownership, pipeline)) is None
    assert target.journal[-1].state is ClaimState.CLAIMED


def identity(target: Target, **changes: Any) -> Ownership:
    """Take the lane over as identity."""
    ownership: Ownership = target.run(takeover(request(mode=LaneMode.IDENTITY, **changes)))
    return ownership


def test_an_identity_lane_goes_on_at_the_end_of_the_log() -> None:
    """The shared producer id, no fence, no claim of one's own."""
    target = Target([data(50, 3, 9, 50)], [claim(9, LaneMode.IDENTITY, floor=50)], entries={9: ProducerState(0, 52)})
    ownership = identity(target)
    assert (ownership.mode, ownership.producer_id, ownership.position) == (LaneMode.IDENTITY, 9, 53)
    assert len(target.journal) == 1


def test_the_first_identity_owner_claims_the_shared_producer_id() -> None:
    """Its record is never renewed."""
    target = Target(start=50)
    assert (identity(target).producer_id, identity(target).producer_id) == (101, 101)
    assert len(target.journal) == 1


@pytest.mark.parametrize(
    ("last", "entry", "why"),
    [
        (data(50, 3, 9, 50), None, "forgotten"),
        (data(50, 3, 9, 50, NOW - E), ProducerState(0, 52), "old"),
        (data(50, 3, 8, 50), ProducerState(0, 52), "another writer"),
        (data(50, 3, 9, 50), ProducerState(0, 51), "sequence 51"),
    ],
)
def test_an_identity_lane_in_doubt_becomes_mapped_and_says_why(
    last: TailBatch, entry: ProducerState | None, why: str
) -> None:
    """A fresh producer id is claimed and the shared one fenced."""
    entries = {} if entry is None else {9: entry}
    target = Target([last], [claim(9, LaneMode.IDENTITY, floor=50)], start=50, entries=entries)
    ownership = identity(target)
    assert ownership.mode is LaneMode.MAPPED and why in ownership.why
    assert target.fenced == [9]


def test_why_a_lane_becomes_mapped_is_told_though_its_takeover_breaks() -> None:
    """The mapped claim is in the journal by then, and the log may no longer show the next owner what was wrong."""
    target = Target([data(50, 3, 8, 50)], [claim(9, LaneMode.IDENTITY, floor=50)], start=50, fence_code=6)
    with pytest.raises(OwnershipEnded) as ended:
        identity(target)
    assert "another writer" in ended.value.mapped_because
    with pytest.raises(OwnershipEnded) as again:
        identity(target)
    assert again.value.mapped_because == ""


def test_a_shifted_identity_lane_becomes_mapped_and_goes_on_exactly() -> None:
    """Somebody else's record lies between: offsets differ from here on, and nothing is lost."""
    log = [data(50, 1, 9, 50), data(51, 1, 77, 0), data(52, 2, 9, 51)]
    target = Target(log, [claim(9, LaneMode.IDENTITY, floor=50)], start=50, entries={9: ProducerState(0, 52)})
    ownership = identity(target)
    assert ownership.mode is LaneMode.MAPPED and "shifted" in ownership.why and ownership.position == 53


def test_a_lane_that_does_not_begin_at_its_start_is_stopped() -> None:
    """Its first batches were truncated and a late one was appended in their place."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 3, 1, 60)], [claim(1)]).run(takeover(request()))
    assert stopped.value.reason is Stop.DIVERGED and stopped.value.offset == 50


def test_a_lane_once_mapped_stays_mapped() -> None:
    """Whatever is asked for."""
    target = Target([data(50, 3, 9, 50)], [claim(9, LaneMode.IDENTITY, floor=50), claim(10, state=ClaimState.RELEASED)])
    assert identity(target).mode is LaneMode.MAPPED


def test_a_target_that_already_held_records_is_mapped() -> None:
    """Offsets cannot be equal there."""
    target = Target([data(0, 60, 77, 0)])
    assert "before the lane's first claim" in identity(target).why


LAP = 1 << 31


def far(position: int, others: int = 0, **changes: Any) -> Ownership:
    """Take over a lane that holds ``position`` records, without a gap, in a target with so many of other writers."""
    last = data(position + others - 5, 5, 1, (position - 5) % LAP)
    before = data(position + others - 10, 5, 1, (position - 10) % LAP)
    begun = replace(claim(1), start=0)
    ownership: Ownership = Target([before, last], [begun], start=10).run(takeover(request(start=0, **changes)))
    return ownership


@pytest.mark.parametrize("position", [2_000_000_000, 3_000_000_000, 9_000_000_000])
def test_the_lap_of_a_lane_is_told_by_what_was_reported_where_its_runs_are_gone(position: int) -> None:
    """Its sequence says it but for a multiple of 2^31."""
    assert far(position, reported=ReportedPosition(position - 700, position - 700)).position == position
    assert far(position, persisted=Persisted(position - 9, position - 9, 3)).position == position


def test_the_lap_of_a_lane_is_told_by_what_the_source_has() -> None:
    """It cannot be past the source's end, nor further than the target's log has grown."""
    assert far(1_000_000_000, 2_000_000_000, source_end=1_000_000_007).position == 1_000_000_000
    with pytest.raises(LaneStopped):
        far(1_000_000_000, 2_000_000_000)
    assert far(2_900_000_000, persisted=Persisted(1_500_000_000, 1_500_000_000, 3)).position == 2_900_000_000


def test_a_lap_that_nothing_tells_stops_the_lane() -> None:
    """Both offsets are named; nothing is copied from a position that is 2^31 off."""
    with pytest.raises(LaneStopped) as stopped:
        far(3_000_000_000, source_end=9_000_000_000)
    assert stopped.value.reason is Stop.POSITION_LOST
    assert "852,516,347, 2,999,999,995" in stopped.value.message
    with pytest.raises(LaneStopped) as stopped:
        far(3_000_000_000, source_end=1_500_000_000, reported=ReportedPosition(1_400_000_000, 1_400_000_000))
    assert "is no source offset between" in stopped.value.message


def test_a_lane_that_is_persisted_as_copied_and_has_no_claims_does_not_start_over() -> None:
    """Its claims were deleted: all would be copied again, and nobody who wrote it be fenced."""
    for known in ({"persisted": Persisted(80, 30, 3)}, {"reported": ReportedPosition(80, 30)}):
        target = Target([data(0, 30, 1, 50)])
        with pytest.raises(LaneStopped) as stopped:
            target.run(takeover(request(**known)))
        assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 80)
        assert "link accept" in stopped.value.hint and not target.journal


def test_a_generation_that_a_person_had_begin_has_the_runs_of_the_one_before() -> None:
    """They lie below its start, and no claim of its own is missing."""
    target = Target([data(0, 30, 1, 50)])
    ownership = target.run(takeover(request(start=80, begun_at=80, persisted=Persisted(80, 30, -1))))
    assert (ownership.position, ownership.target_end) == (80, 30)


def test_a_lane_whose_gap_records_are_lost_stops() -> None:
    """Its sequences alone tell offsets that are too low; its persisted runs say so, also behind them."""
    for behind in ([], [data(3, 2, 1, 53)]):
        target = Target([data(0, 3, 1, 50), *behind], [claim(1)])
        with pytest.raises(LaneStopped) as stopped:
            target.run(takeover(request(persisted=Persisted(60, 3, 3))))
        assert stopped.value.reason is Stop.POSITION_LOST and stopped.value.offset == 53
        assert "gap records are lost" in stopped.value.message


@pytest.mark.parametrize(
    ("log", "is_replaced"),
    [
        ([data(0, 3, 1, 50), marker(3, 1), data(4, 2, 2, 53)], True),
        ([data(0, 3, 1, 50), data(3, 1, 9, 0), data(4, 2, 2, 53)], True),
        ([data(0, 3, 1, 50), data(3, 1, 1, 53), data(4, 2, 1, 54)], False),
    ],
)
def test_a_range_that_was_persisted_of_another_log_stops_no_lane(log: list[TailBatch], is_replaced: bool) -> None:
    """An unclean election took what lay from target offset 3 on, and a late owner persisted it once more.

    A fence or another writer's batch within the range shows that; where only the lane's own batches lie there the
    sequences may be wrong as well.
    """
    persisted = Persisted(57 if not is_replaced else 56, 6, 3, target_start=0)
    target = Target(log, [claim(1), claim(2)])
    if is_replaced:
        ownership = target.run(takeover(request(persisted=persisted)))
        assert (ownership.position, ownership.is_replaced) == (55, True)
        return
    with pytest.raises(LaneStopped) as stopped:
        target.run(takeover(request(persisted=persisted)))
    assert stopped.value.reason is Stop.POSITION_LOST


@pytest.mark.parametrize("behind", [[], [marker(3, 9)], [data(3, 2, 1, 53)], [marker(3, 9), data(4, 2, 1, 53)]])
def test_a_lane_whose_gap_records_and_runs_are_lost_stops(behind: list[TailBatch]) -> None:
    """What was reported as its progress says so, also behind that: the sequences before it tell less."""
    reported = ReportedPosition(54, 4 if behind and behind[0].is_control else 3)
    target = Target([data(0, 3, 1, 50), *behind], [claim(1)])
    with pytest.raises(LaneStopped) as stopped:
        target.run(takeover(request(reported=reported)))
    assert stopped.value.reason is Stop.POSITION_LOST and stopped.value.offset == 53
    assert "link accept" in stopped.value.hint


@pytest.mark.parametrize(
    ("reported", "changes"),
    [
        (ReportedPosition(53, 3), {}),  # hole-free: its runs alone are lost
        (ReportedPosition(60, 9), {}),  # the target was truncated since
        (ReportedPosition(60, 3), {"persisted": Persisted(53, 3, 3)}),  # a gap at its end
        (ReportedPosition(60, 3), {"begun_at": 60}),  # of the generation before
    ],
)
def test_a_lane_whose_sequences_tell_what_was_reported_goes_on(
    reported: ReportedPosition, changes: dict[str, Any]
) -> None:
    """Or that lost its end since, or whose gaps are told by its runs."""
    target = Target([data(0, 3, 1, 50)], [claim(1)])
    assert target.run(takeover(request(reported=reported, **changes))).position == 53


def test_an_owner_that_looked_proves_that_nothing_else_was_written() -> None:
    """The records of an idle lane were deleted, and then the markers of takeovers behind them."""
    target = Target(journal=[claim(1)], start=32, kept=32)
    assert target.run(takeover(request(persisted=Persisted(80, 30, 3, 32)))).position == 80
    with pytest.raises(LaneStopped) as stopped:
        Target(journal=[claim(1)], start=32, kept=31).run(takeover(request(persisted=Persisted(80, 30, 3, 32))))
    assert stopped.value.offset == 80 and "truncated to 31" in stopped.value.message


def test_a_lane_of_whose_claims_only_some_are_left_does_not_start_over() -> None:
    """The last persisted record was written by nobody who is known; also where another's batch is all that is found."""
    log = [data(0, 30, 1, 50)]
    for journal, behind in (([claim(2)], []), ([claim(2)], [data(30, 4, 2, 80)])):
        with pytest.raises(LaneStopped) as stopped:
            Target([*log, *behind], list(journal)).run(takeover(request(persisted=Persisted(80, 30, 3))))
        assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 80)
        assert "no claim names producer id 1" in stopped.value.message
    with pytest.raises(LaneStopped) as stopped:
        Target(log, [claim(2)]).run(takeover(request(claims_deleted=True)))
    assert stopped.value.reason is Stop.CLAIMS_LOST


def test_a_lane_is_not_begun_where_claims_were_deleted_and_the_target_has_records() -> None:
    """Somebody wrote them; an empty target is nobody's."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 30, 1, 50)]).run(takeover(request(claims_deleted=True)))
    assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 50)
    assert Target().run(takeover(request(claims_deleted=True))).position == 50
