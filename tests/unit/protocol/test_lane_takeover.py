"""Takeover and release, effect by effect, against a scripted target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from anabranch.model.lane import LaneMode
from anabranch.protocol import (
    Allocated,
    AllocateProducerId,
    AppendClaim,
    AppendKills,
    Bid,
    Claim,
    ClaimLog,
    ClaimState,
    DescribeProducer,
    Ending,
    EndOfEpoch,
    Filed,
    ForgetClaims,
    Jump,
    JumpLog,
    KillKey,
    Kills,
    LaneStopped,
    LogEnd,
    Pause,
    Pipeline,
    ProducerEntry,
    ReadClaims,
    ReadEnd,
    ReadJumps,
    ReadMarkers,
    ReadTail,
    Reported,
    Stop,
    TailBatch,
    Tenure,
    TenureEnded,
    release,
    takeover,
)
from anabranch.protocol.effects import FORGOTTEN
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
    jumps: list[Jump] = field(default_factory=list)
    kills: dict[int, int] = field(default_factory=dict)
    start: int = 0
    lag: int = 0
    kill_code: int = 0
    lose_appends: int = 0
    forget_markers: bool = False
    entries: dict[int, ProducerEntry] = field(default_factory=dict)
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
                for at, (producer_id, offset) in enumerate(self.kills.items()):
                    claims.apply_kill(len(self.journal) + at, KillKey("t-0", producer_id), offset)
                return claims
            case ReadJumps():
                return JumpLog((i, j.key, j) for i, j in enumerate(self.jumps))
            case AppendKills(_, markers):
                self.kills.update(markers)
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
            case Kills(kills):
                for kill in kills:
                    if not self.kill_code and not self.forget_markers:
                        self.log.append(marker(self.end, kill.producer_id))
                return (self.kill_code,) * len(kills)
            case ReadMarkers(offsets):
                if min(offsets) < self.start:
                    raise TenureEnded("t-0", Ending.UNSETTLED, 1)
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
            raise TenureEnded("t-0", Ending.UNSETTLED, 1)
        return next((b for b in reversed(self.log) if b.base_offset < below), None)

    @property
    def killed(self) -> list[int]:
        """Who was asked to be shut out."""
        return [kill.producer_id for effect in self.asked if isinstance(effect, Kills) for kill in effect.kills]


def bid(**changes: Any) -> Bid:
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
    return Bid(**{**wish, **changes})


def claim(
    producer_id: int, mode: LaneMode = LaneMode.MAPPED, state: ClaimState = ClaimState.CLAIMED, floor: int = 0
) -> Claim:
    """An earlier owner's claim."""
    return Claim("t-0", producer_id, mode, "other", None, NOW, state, 50, floor)


def test_a_lane_never_claimed_starts_at_its_start() -> None:
    """Nothing to kill, nothing to find."""
    target = Target(log=[data(0, 5, 77, 0)])
    tenure = target.run(takeover(bid()))
    assert (tenure.position, tenure.sequence, tenure.target_end, tenure.producer_id) == (50, 50, 5, 101)
    assert target.journal[0].floor == 5 and not target.killed


def test_the_position_is_read_after_every_earlier_claim_is_killed() -> None:
    """Control batches and strangers are passed over on the way back."""
    target = Target([data(0, 3, 1, 50), data(3, 2, 2, 53), data(5, 1, 77, 0)], [claim(1), claim(2)])
    tenure = target.run(takeover(bid()))
    assert target.killed == [1, 2]
    first_look = next(i for i, e in enumerate(target.asked) if isinstance(e, ReadTail))
    assert first_look > max(i for i, e in enumerate(target.asked) if isinstance(e, Kills))
    assert (tenure.position, tenure.tail_end, tenure.target_end) == (55, 5, 8)
    assert tenure.settled == {1, 2}


def test_an_expiration_that_is_not_told_kills_by_the_longest_and_guards_by_none() -> None:
    """Unknown is the safe side of both."""
    target = Target([data(0, 3, 1, 50)], [claim(1)])
    tenure = target.run(takeover(bid(expiration_ms=2**31 - 1, expiration_known=False)))
    assert tenure.settled == {1} and tenure.expiration_ms == 0
    pipeline = Pipeline(tenure, sole_writer=True, wall_ms=lambda: NOW)
    pipeline.send(53, 1, NOW)
    pipeline.acknowledge(0, tenure.target_end)
    assert pipeline.room() == 1


@pytest.mark.parametrize(("longest", "killed"), [(0, []), (7 * E, [1])])
def test_an_owner_of_a_longer_expiration_is_shut_out_though_the_present_one_is_over(
    longest: int, killed: list[int]
) -> None:
    """The expiration was lowered while it copies: it goes by the one of when it began (A1)."""
    old = replace(claim(1), claimed_at_ms=NOW - 3 * E)
    target = Target([data(0, 3, 1, 50)], [old])
    target.run(takeover(bid(longest_expiration_ms=longest)))
    assert target.killed == killed


@pytest.mark.parametrize(("hours", "left"), [(30, "in 18 h"), (47, "in 1 h"), (48, ""), (9 * 24, "")])
@pytest.mark.parametrize(("expiration", "known"), [(E // 24, True), (E, True), (24 * E, True), (24 * E, False)])
def test_an_owner_whom_the_coordinator_has_forgotten_is_waited_out_by_one_rule(
    hours: int, left: str, expiration: int, known: bool
) -> None:
    """Whatever the target's expiration is, or was when that owner began: it writes for a day at most."""
    old = replace(claim(1), claimed_at_ms=NOW - hours * E // 24, transactional_id="t")
    target = Target([data(0, 3, 1, 50)], [old], kill_code=FORGOTTEN)
    asked = bid(expiration_ms=expiration, expiration_known=known, longest_expiration_ms=24 * E)
    if not left:
        assert target.run(takeover(asked)).position == 53
        return
    with pytest.raises(LaneStopped) as stopped:
        target.run(takeover(asked))
    assert stopped.value.reason is Stop.OWNER_FORGOTTEN
    assert left in stopped.value.message


def test_a_released_claim_is_not_killed() -> None:
    """A clean end costs no offset."""
    target = Target([data(0, 3, 1, 50)], [claim(1, state=ClaimState.RELEASED)])
    assert target.run(takeover(bid())).position == 53
    assert not target.killed


def test_an_append_of_unknown_outcome_throws_the_producer_id_away() -> None:
    """It may land later, and is killed then."""
    target = Target(lose_appends=2)
    assert target.run(takeover(bid())).producer_id == 103


def test_a_journal_that_cannot_be_written_ends_the_takeover() -> None:
    """Bounded attempts."""
    with pytest.raises(TenureEnded) as ended:
        Target(lose_appends=99).run(takeover(bid()))
    assert ended.value.reason is Ending.JOURNAL


@pytest.mark.parametrize(("code", "kind"), [(6, TenureEnded), (7, TenureEnded), (19, TenureEnded), (31, LaneStopped)])
def test_a_kill_that_is_not_acknowledged_ends_the_takeover(code: int, kind: type[Exception]) -> None:
    """Never go on past an owner that may still write."""
    with pytest.raises(kind):
        Target(journal=[claim(1)], kill_code=code).run(takeover(bid()))


def test_an_acknowledged_kill_that_is_not_in_the_log_ends_the_takeover() -> None:
    """The log was truncated since."""
    with pytest.raises(TenureEnded) as ended:
        Target([data(0, 3, 1, 50)], [claim(1)], forget_markers=True).run(takeover(bid()))
    assert ended.value.reason is Ending.KILL_MISSING


@pytest.mark.parametrize(("age_ms", "kills"), [(0, []), (E - MARGIN_MS - 1, []), (E - MARGIN_MS, [1]), (2 * E, [1])])
def test_a_noted_kill_proves_what_the_target_still_remembers(age_ms: int, kills: list[int]) -> None:
    """A producer id that the target has forgotten is refused nothing: its owner is shut out anew."""
    log = [data(0, 3, 1, 50), replace(marker(3, 1), max_timestamp=NOW - age_ms)]
    target = Target(log, [claim(1)], kills={1: 3})
    assert target.run(takeover(bid())).position == 53
    assert target.killed == kills


def test_a_noted_kill_that_retention_took_is_made_again() -> None:
    """Below the log's start a broker answers with an error, each time."""
    target = Target([data(5, 3, 1, 50), marker(8, 1)], [claim(1)], kills={1: 3}, start=5)
    assert target.run(takeover(bid())).position == 53
    assert target.killed == [1]


def test_an_owner_that_is_succeeded_while_it_claims_shuts_nobody_out() -> None:
    """It would shut its successor out, which has read the log already."""

    class Raced(Target):
        def perform(self, effect: Any) -> Any:
            answer = super().perform(effect)
            if isinstance(effect, AppendClaim):
                self.journal.append(claim(9))
            return answer

    target = Raced([data(0, 3, 1, 50)], [claim(1)])
    with pytest.raises(TenureEnded) as ended:
        target.run(takeover(bid()))
    assert (ended.value.reason, ended.value.detail) == (Ending.SUPERSEDED, "other")
    assert not target.killed


@pytest.mark.parametrize("shown", [0, 1])
def test_a_claim_that_the_journal_does_not_show_ends_the_takeover(shown: int) -> None:
    """Whoever reads an old journal does not know who else has claimed."""

    class Behind(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, ReadClaims) and len(self.journal) > 1:
                return ClaimLog((i, c.key, c) for i, c in enumerate(self.journal[:shown]))
            return super().perform(effect)

    with pytest.raises(TenureEnded) as ended:
        Behind([data(0, 3, 1, 50)], [claim(1)]).run(takeover(bid()))
    assert ended.value.reason is Ending.JOURNAL and "not read back" in ended.value.detail


def test_a_claim_again_that_the_journal_shows_only_as_it_was_before_ends_the_takeover() -> None:
    """The record of the same producer id is there, but it is the older one."""

    class Behind(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, ReadClaims) and len(self.journal) > 2:
                return ClaimLog((i, c.key, c) for i, c in enumerate(self.journal[:2]))
            return super().perform(effect)

    target = Behind()
    held = held_after(target)
    with pytest.raises(TenureEnded) as ended:
        target.run(takeover(bid(held=held)))
    assert ended.value.reason is Ending.JOURNAL


@pytest.mark.parametrize("starts", [(50, 70), (70, 50)])
def test_a_lane_begins_where_the_lowest_of_its_claims_says(starts: tuple[int, int]) -> None:
    """Whatever a later owner takes for the start, as with a lane that begins at the latest record."""
    target = Target(journal=[replace(claim(at), start=start) for at, start in enumerate(starts)])
    tenure = target.run(takeover(bid(start=90)))
    assert (tenure.position, target.journal[-1].start) == (50, 50)


@pytest.mark.parametrize("noted", [2, 3, 4, 400])
def test_a_noted_kill_that_the_log_has_lost_is_made_again(noted: int) -> None:
    """An unclean election took its marker: the owner is shut out anew, also where the log ends before it."""
    target = Target([data(0, 3, 1, 50)], [claim(1)], kills={1: noted})
    assert target.run(takeover(bid())).position == 53
    assert target.killed == [1]


def test_the_tail_is_read_only_when_all_of_it_is_replicated() -> None:
    """A read ends at the high watermark."""
    target = Target([data(0, 3, 1, 50)], [claim(1)], lag=2)
    assert target.run(takeover(bid())).position == 53
    assert any(isinstance(e, Pause) for e in target.asked)


def test_batches_that_do_not_follow_each_other_stop_the_lane() -> None:
    """A hole in the copy is named, not papered over."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 3, 1, 50), data(3, 2, 1, 55)], [claim(1)]).run(takeover(bid()))
    assert stopped.value.reason is Stop.DIVERGED and stopped.value.offset == 53


def test_a_deleted_log_gives_the_filed_position_where_that_is_exact() -> None:
    """The log still begins at or below the end of the last filed run, in an epoch that was not cut."""
    target = Target(journal=[claim(1)], start=30, kept=30)
    assert target.run(takeover(bid(filed=Filed(80, 30, 3)))).position == 80


@pytest.mark.parametrize(
    ("start", "kept", "filed"), [(31, 40, Filed(80, 30, 3)), (30, 29, Filed(80, 30, 3)), (30, 30, None)]
)
def test_a_deleted_log_without_an_exact_position_stops_the_lane(start: int, kept: int, filed: Filed | None) -> None:
    """Never guess: records between the filed end and the log's start, a truncation, or nothing filed."""
    with pytest.raises(LaneStopped) as stopped:
        Target(journal=[claim(1)], start=start, kept=kept).run(takeover(bid(filed=filed)))
    assert stopped.value.reason is Stop.POSITION_LOST


def test_a_truncated_log_that_lost_all_of_the_lane_starts_over() -> None:
    """Nothing was deleted from the head, so nothing is missing but what was cut."""
    target = Target(journal=[claim(1, floor=8)], start=5)
    tenure = target.run(takeover(bid(filed=Filed(80, 30, 3))))
    assert tenure.position == 50 and tenure.tail_end == 5


def held_after(target: Target) -> Any:
    """A tenure that copied nothing and was released."""
    tenure = target.run(takeover(bid()))
    return target.run(release(tenure, Pipeline(tenure, sole_writer=True, wall_ms=lambda: NOW)))


def test_a_released_producer_id_is_claimed_again_by_its_process() -> None:
    """No fresh id, no kill, but the tail is read."""
    target = Target([data(0, 3, 1, 50)], [claim(1)])
    held = held_after(target)
    killed = len(target.killed)
    tenure = target.run(takeover(bid(held=held)))
    assert tenure.producer_id == held.producer_id == 101 and tenure.position == 53
    assert len(target.killed) == killed


@pytest.mark.parametrize("what", ["claimed since", "other epoch", "too old", "other process"])
def test_a_held_producer_id_is_thrown_away_where_anything_happened(what: str) -> None:
    """Then a fresh one is claimed."""
    target = Target()
    held = held_after(target)
    changes: dict[str, Any] = {
        "claimed since": {},
        "other epoch": {"leader_epoch": 5},
        "too old": {"now_ms": NOW + E},
        "other process": {"owner": "twin"},
    }[what]
    if what == "claimed since":
        target.journal.append(claim(7, state=ClaimState.RELEASED))
    assert target.run(takeover(bid(held=held, **changes))).producer_id == 102


def test_a_release_of_unknown_outcome_is_not_claimed_again() -> None:
    """It may land after the next claim and hide it."""
    target = Target()
    tenure = target.run(takeover(bid()))
    target.lose_appends = 1
    assert target.run(release(tenure, Pipeline(tenure, sole_writer=True, wall_ms=lambda: NOW))) is None


def test_a_tenure_with_batches_in_doubt_is_not_released() -> None:
    """The next owner must kill it."""
    target = Target()
    tenure = target.run(takeover(bid()))
    pipeline = Pipeline(tenure, sole_writer=True, wall_ms=lambda: NOW)
    pipeline.send(50, 1, NOW)
    assert target.run(release(tenure, pipeline)) is None
    assert target.journal[-1].state is ClaimState.CLAIMED


def identity(target: Target, **changes: Any) -> Tenure:
    """Take the lane over as identity."""
    tenure: Tenure = target.run(takeover(bid(mode=LaneMode.IDENTITY, **changes)))
    return tenure


def test_an_identity_lane_goes_on_at_the_end_of_the_log() -> None:
    """The shared producer id, no kill, no claim of one's own."""
    target = Target([data(50, 3, 9, 50)], [claim(9, LaneMode.IDENTITY, floor=50)], entries={9: ProducerEntry(0, 52)})
    tenure = identity(target)
    assert (tenure.mode, tenure.producer_id, tenure.position) == (LaneMode.IDENTITY, 9, 53)
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
        (data(50, 3, 9, 50, NOW - E), ProducerEntry(0, 52), "old"),
        (data(50, 3, 8, 50), ProducerEntry(0, 52), "another writer"),
        (data(50, 3, 9, 50), ProducerEntry(0, 51), "sequence 51"),
    ],
)
def test_an_identity_lane_in_doubt_becomes_mapped_and_says_why(
    last: TailBatch, entry: ProducerEntry | None, why: str
) -> None:
    """A fresh producer id is claimed and the shared one shut out."""
    entries = {} if entry is None else {9: entry}
    target = Target([last], [claim(9, LaneMode.IDENTITY, floor=50)], start=50, entries=entries)
    tenure = identity(target)
    assert tenure.mode is LaneMode.MAPPED and why in tenure.why
    assert target.killed == [9]


def test_why_a_lane_becomes_mapped_is_told_though_its_takeover_breaks() -> None:
    """The mapped claim is in the journal by then, and the log may no longer show the next owner what was wrong."""
    target = Target([data(50, 3, 8, 50)], [claim(9, LaneMode.IDENTITY, floor=50)], start=50, kill_code=6)
    with pytest.raises(TenureEnded) as ended:
        identity(target)
    assert "another writer" in ended.value.mapped_because
    with pytest.raises(TenureEnded) as again:
        identity(target)
    assert again.value.mapped_because == ""


def test_a_shifted_identity_lane_becomes_mapped_and_goes_on_exactly() -> None:
    """Somebody else's record lies between: offsets differ from here on, and nothing is lost."""
    log = [data(50, 1, 9, 50), data(51, 1, 77, 0), data(52, 2, 9, 51)]
    target = Target(log, [claim(9, LaneMode.IDENTITY, floor=50)], start=50, entries={9: ProducerEntry(0, 52)})
    tenure = identity(target)
    assert tenure.mode is LaneMode.MAPPED and "shifted" in tenure.why and tenure.position == 53


def test_a_lane_that_does_not_begin_at_its_start_is_stopped() -> None:
    """Its first batches were truncated and a late one was appended in their place."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 3, 1, 60)], [claim(1)]).run(takeover(bid()))
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


def far(position: int, others: int = 0, **changes: Any) -> Tenure:
    """Take over a lane that holds ``position`` records, without a hole, in a target with so many of other writers."""
    last = data(position + others - 5, 5, 1, (position - 5) % LAP)
    before = data(position + others - 10, 5, 1, (position - 10) % LAP)
    begun = replace(claim(1), start=0)
    tenure: Tenure = Target([before, last], [begun], start=10).run(takeover(bid(start=0, **changes)))
    return tenure


@pytest.mark.parametrize("position", [2_000_000_000, 3_000_000_000, 9_000_000_000])
def test_the_lap_of_a_lane_is_told_by_what_was_reported_where_its_runs_are_gone(position: int) -> None:
    """Its sequence says it but for a multiple of 2^31."""
    assert far(position, reported=Reported(position - 700, position - 700)).position == position
    assert far(position, filed=Filed(position - 9, position - 9, 3)).position == position


def test_the_lap_of_a_lane_is_told_by_what_the_source_has() -> None:
    """It cannot be past the source's end, nor further than the target's log has grown."""
    assert far(1_000_000_000, 2_000_000_000, source_end=1_000_000_007).position == 1_000_000_000
    with pytest.raises(LaneStopped):
        far(1_000_000_000, 2_000_000_000)
    assert far(2_900_000_000, filed=Filed(1_500_000_000, 1_500_000_000, 3)).position == 2_900_000_000


def test_a_lap_that_nothing_tells_stops_the_lane() -> None:
    """Both offsets are named; nothing is copied from a position that is 2^31 off."""
    with pytest.raises(LaneStopped) as stopped:
        far(3_000_000_000, source_end=9_000_000_000)
    assert stopped.value.reason is Stop.POSITION_LOST
    assert "852516347, 2999999995" in stopped.value.message
    with pytest.raises(LaneStopped) as stopped:
        far(3_000_000_000, source_end=1_500_000_000, reported=Reported(1_400_000_000, 1_400_000_000))
    assert "is no source offset between" in stopped.value.message


def test_a_lane_that_is_filed_as_copied_and_has_no_claims_does_not_start_over() -> None:
    """Its claims were deleted: all would be copied again, and nobody who wrote it be shut out."""
    for known in ({"filed": Filed(80, 30, 3)}, {"reported": Reported(80, 30)}):
        target = Target([data(0, 30, 1, 50)])
        with pytest.raises(LaneStopped) as stopped:
            target.run(takeover(bid(**known)))
        assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 80)
        assert "link accept" in stopped.value.hint and not target.journal


def test_a_generation_that_a_person_had_begin_has_the_runs_of_the_one_before() -> None:
    """They lie below its start, and no claim of its own is missing."""
    target = Target([data(0, 30, 1, 50)])
    tenure = target.run(takeover(bid(start=80, begun_at=80, filed=Filed(80, 30, -1))))
    assert (tenure.position, tenure.target_end) == (80, 30)


def test_a_lane_whose_jumps_are_lost_stops() -> None:
    """Its sequences alone tell offsets that are too low; its filed runs say so, also behind them."""
    for behind in ([], [data(3, 2, 1, 53)]):
        target = Target([data(0, 3, 1, 50), *behind], [claim(1)])
        with pytest.raises(LaneStopped) as stopped:
            target.run(takeover(bid(filed=Filed(60, 3, 3))))
        assert stopped.value.reason is Stop.POSITION_LOST and stopped.value.offset == 53
        assert "jumps are lost" in stopped.value.message


def test_an_owner_that_looked_proves_that_nothing_else_was_written() -> None:
    """The records of an idle lane were deleted, and then the markers of takeovers behind them."""
    target = Target(journal=[claim(1)], start=32, kept=32)
    assert target.run(takeover(bid(filed=Filed(80, 30, 3, 32)))).position == 80
    with pytest.raises(LaneStopped) as stopped:
        Target(journal=[claim(1)], start=32, kept=31).run(takeover(bid(filed=Filed(80, 30, 3, 32))))
    assert stopped.value.offset == 80 and "truncated to 31" in stopped.value.message


def test_a_lane_of_whose_claims_only_some_are_left_does_not_start_over() -> None:
    """The last filed record was written by nobody who is known; also where another's batch is all that is found."""
    log = [data(0, 30, 1, 50)]
    for journal, behind in (([claim(2)], []), ([claim(2)], [data(30, 4, 2, 80)])):
        with pytest.raises(LaneStopped) as stopped:
            Target([*log, *behind], list(journal)).run(takeover(bid(filed=Filed(80, 30, 3))))
        assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 80)
        assert "no claim names producer id 1" in stopped.value.message
    with pytest.raises(LaneStopped) as stopped:
        Target(log, [claim(2)]).run(takeover(bid(claims_deleted=True)))
    assert stopped.value.reason is Stop.CLAIMS_LOST


def test_a_lane_is_not_begun_where_claims_were_deleted_and_the_target_has_records() -> None:
    """Somebody wrote them; an empty target is nobody's."""
    with pytest.raises(LaneStopped) as stopped:
        Target([data(0, 30, 1, 50)]).run(takeover(bid(claims_deleted=True)))
    assert (stopped.value.reason, stopped.value.offset) == (Stop.CLAIMS_LOST, 50)
    assert Target().run(takeover(bid(claims_deleted=True))).position == 50
