"""Taking over identity lanes with padded heads and filled gaps: what is believed, and what makes the lane mapped."""

from __future__ import annotations

from typing import Any

import pytest
from test_lane_takeover import NOW, Target, data, request

from anabranch.model.lane import LaneMode
from anabranch.protocol import (
    AppendClaim,
    Ending,
    LaneStopped,
    LogEnd,
    Ownership,
    OwnershipEnded,
    Pause,
    Persisted,
    ProducerState,
    ReadEnd,
    Stop,
    TailBatch,
    identity,
    takeover,
)
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.gap_records import GapRecord, OffsetSpan

pytestmark = pytest.mark.unit

FILLER = 900
DAY = 86_400_000


def fixed(start: int, floor: int = 0) -> Claim:
    """The first identity claim."""
    return Claim("t-0", 9, LaneMode.IDENTITY, "other", None, NOW, ClaimState.CLAIMED, start, floor)


def marker(at: int, producer_id: int = FILLER) -> TailBatch:
    """A control batch."""
    return TailBatch(at, at, producer_id, -1, True, NOW)


def gap_record(sequence: int, to: int) -> GapRecord:
    """A gap record of the lane's producer id."""
    return GapRecord("t-0", 9, sequence, to, (OffsetSpan(to, 1),))


def take(target: Target, **changes: Any) -> Ownership:
    """Take the lane over, wanting identity."""
    ownership: Ownership = target.run(takeover(request(**{"mode": LaneMode.IDENTITY, **changes})))
    return ownership


@pytest.mark.parametrize(("log", "at"), [([], 0), ([data(0, 20, 9, 0)], 20)])
def test_an_empty_target_is_padded_up_to_the_start_and_goes_on_after_a_crash(log: list[TailBatch], at: int) -> None:
    """Padding has its offset as its sequence, whoever writes it, whatever is wanted by then."""
    entries = {9: ProducerState(0, at - 1)} if at else {}
    for mode in LaneMode:
        ownership = take(Target(log, [fixed(50)], entries=entries), mode=mode)
        assert (ownership.mode, ownership.position, ownership.sequence, ownership.is_padded) == (
            LaneMode.IDENTITY,
            at,
            at,
            False,
        )


@pytest.mark.parametrize(
    ("log", "entry", "why"),
    [
        ([data(0, 20, 9, 0), data(20, 1, 77, 0)], ProducerState(0, 19), "another writer appended at target offset 20"),
        ([data(0, 20, 9, 0), marker(20)], ProducerState(0, 19), "another writer appended at target offset 20"),
        ([data(0, 20, 9, 1)], ProducerState(0, 20), "target offset 0 holds sequence 1: the lane is shifted"),
        ([marker(0), marker(1)], None, "was written up to 2 by others, short of the lane's start 50"),
        ([data(0, 20, 9, 0)], ProducerState(0, 18), "remembers sequence 18 of epoch 0, not 19"),
        ([data(0, 20, 9, 0)], ProducerState(1, 19), "remembers sequence 19 of epoch 1, not 19"),
        ([data(0, 1, 9, 0, NOW - DAY)], ProducerState(0, 0), ""),
    ],
)
def test_padding_that_cannot_go_on_stops_the_lane(log: list[TailBatch], entry: ProducerState | None, why: str) -> None:
    """Records never lie among padding; how old the padding is does not matter."""
    target = Target(list(log), [fixed(50)], entries={} if entry is None else {9: entry})
    if not why:
        assert take(target).position == 1
        return
    with pytest.raises(LaneStopped) as stopped:
        take(target)
    end = log[-1].last_offset + 1
    assert (stopped.value.reason, stopped.value.offset) == (Stop.DIVERGED, 50)
    assert f"padded up to {end} of 50, and cannot go on" in stopped.value.message and why in stopped.value.message


def test_a_padded_lane_without_a_record_is_at_its_start_in_either_mode() -> None:
    """Padding that was deleted is no record that was lost; its age does not matter."""
    for log in ([], [data(0, 50, 9, 0, 5)]):
        entries = {9: ProducerState(0, 49)} if not log else {}
        for mode in LaneMode:
            target = Target(list(log), [fixed(50)], start=0 if log else 50, entries=entries)
            ownership = take(target, mode=mode)
            assert (ownership.mode, ownership.position) == (mode, 50)


def test_a_target_with_records_short_of_the_start_is_never_padded() -> None:
    """They are not the lane's to delete."""
    assert take(Target([data(0, 20, 77, 0)]), start=50).mode is LaneMode.MAPPED


HELD = [data(0, 10, 9, 0)]
ENTRY = {9: ProducerState(0, 9)}


@pytest.mark.parametrize("filled", [0, 1, 3])
def test_a_gap_that_is_partly_filled_goes_on_where_the_log_ends(filled: int) -> None:
    """The gap record that was written first says where the next record belongs."""
    log = HELD + [marker(10 + n) for n in range(filled)]
    ownership = take(
        Target(log, [fixed(0)], gap_records=[gap_record(0, 0), gap_record(10, 13)], entries=ENTRY), start=0
    )
    assert ownership.mode is LaneMode.IDENTITY
    assert (ownership.position, ownership.sequence, ownership.ahead, ownership.tail_end) == (10 + filled, 10, 13, 10)


@pytest.mark.parametrize(("gap_records", "markers"), [([gap_record(0, 0), gap_record(10, 13)], 4), ([], 1)])
def test_a_marker_too_many_makes_the_lane_mapped_at_the_exact_record(
    gap_records: list[GapRecord], markers: int
) -> None:
    """Under identity the next owner would leave a record out."""
    log = HELD + [marker(10 + n) for n in range(markers)]
    target = Target(log, [fixed(0)], gap_records=gap_records, entries=ENTRY)
    ownership = take(target, start=0)
    assert ownership.mode is LaneMode.MAPPED and "a marker too many" in ownership.why
    assert ownership.position == 10


def test_behind_a_gap_the_sequence_counts_records_and_the_gap_record_tells_their_place() -> None:
    """A record that lies elsewhere is found out, and told from its sequence."""
    log = [*HELD, *(marker(10 + n) for n in range(3)), data(13, 4, 9, 10)]
    gap_records = [gap_record(0, 0), gap_record(10, 13)]
    ownership = take(Target(log, [fixed(0)], gap_records=gap_records, entries={9: ProducerState(0, 13)}), start=0)
    assert (ownership.mode, ownership.position, ownership.sequence, ownership.ahead) == (LaneMode.IDENTITY, 17, 14, -1)
    log = [*HELD, *(marker(10 + n) for n in range(4)), data(14, 4, 9, 10)]
    ownership = take(Target(log, [fixed(0)], gap_records=gap_records, entries={9: ProducerState(0, 13)}), start=0)
    assert ownership.mode is LaneMode.MAPPED and "shifted" in ownership.why and ownership.position == 17


def test_gap_records_past_a_truncation_are_void_until_the_lane_comes_there_again() -> None:
    """The log fell back into the first of two gaps."""
    log = [*HELD, marker(10)]
    gap_records = [gap_record(0, 0), gap_record(10, 13), gap_record(15, 20)]
    ownership = take(Target(log, [fixed(0)], gap_records=gap_records, entries=ENTRY), start=0)
    assert (ownership.mode, ownership.position, ownership.ahead) == (LaneMode.IDENTITY, 11, 13)


# -- what is not believed -------------------------------------------------------------------------------


def test_a_lane_that_another_owner_makes_mapped_while_it_is_claimed_is_mapped() -> None:
    """There is no way back from a mapped claim, whichever was first in the journal."""

    class Raced(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, AppendClaim) and not self.journal:
                self.journal.append(Claim("t-0", 8, LaneMode.MAPPED, "other", None, NOW, ClaimState.CLAIMED, 0, 0))
            return super().perform(effect)

    target = Raced()
    ownership = take(target, start=0)
    assert (ownership.mode, ownership.why) == (LaneMode.MAPPED, "another owner has made the lane mapped")
    assert target.fenced == [8, 101]


def test_an_end_that_is_not_replicated_yet_is_waited_for() -> None:
    """What lies past the high watermark cannot be read."""
    target = Target(list(HELD), [fixed(0)], entries=ENTRY, lag=3)
    assert take(target, start=0).position == 10
    assert sum(isinstance(effect, Pause) for effect in target.asked) == 1


@pytest.mark.parametrize("stuck", [True, False])
def test_a_log_whose_end_does_not_come_to_rest_ends_the_takeover(stuck: bool) -> None:
    """It grows at each look, or is never replicated: what would be told of it is not all of it."""

    class Restless(Target):
        def perform(self, effect: Any) -> Any:
            if isinstance(effect, Pause):
                return None
            if isinstance(effect, ReadEnd):
                if stuck:
                    return LogEnd(0, self.end - 1, self.end)
                self.log.append(data(self.end, 1, 9, self.end))
            return super().perform(effect)

    target = Restless(list(HELD), [fixed(0)], entries=ENTRY)
    with pytest.raises(OwnershipEnded) as ended:
        take(target, start=0)
    assert ended.value.reason is Ending.UNSETTLED and len(target.journal) == 1


def test_a_gap_that_is_no_gap_of_markers_makes_the_lane_mapped() -> None:
    """Below the last marker the target has no record: it was not the lane's filling that took its place."""
    log = [*HELD, marker(11)]
    gap_records = [gap_record(0, 0), gap_record(10, 13)]
    ownership = take(Target(log, [fixed(0)], gap_records=gap_records, entries=ENTRY), start=0)
    assert (ownership.mode, ownership.position) == (LaneMode.MAPPED, 10)
    assert ownership.why == "the target log has no record at 10"


@pytest.mark.parametrize(("markers", "mode"), [(4, LaneMode.IDENTITY), (6, LaneMode.MAPPED)])
def test_markers_are_walked_past_to_the_last_record_as_far_as_a_gap_reaches(
    markers: int, mode: LaneMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them are no gap of the lane."""
    monkeypatch.setattr(identity, "WALK", 5)
    log = HELD + [marker(10 + at) for at in range(markers)]
    gap_records = [gap_record(0, 0), gap_record(10, 10 + markers)]
    ownership = take(Target(log, [fixed(0)], gap_records=gap_records, entries=ENTRY), start=0)
    assert ownership.mode is mode
    assert mode is LaneMode.IDENTITY or ownership.why == "the target log has more than 5 markers after offset 10"
    assert ownership.position == (10 + markers if mode is LaneMode.IDENTITY else 10)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (ProducerState(0, 59), ""),
        (ProducerState(0, 64), "the target log ends at 60, the lane at 65: another writer appended"),
        (ProducerState(0, 57), "the target log ends at 60, the lane at 58: a marker too many lies there"),
        (ProducerState(1, 59), "the target remembers sequence 59 of epoch 1, not 59"),
        (ProducerState(0, -1), "the target has forgotten the lane's producer id"),
        (None, "the target has forgotten the lane's producer id"),
    ],
)
def test_a_log_that_retention_emptied_goes_on_only_where_the_target_remembers_its_last_record(
    entry: ProducerState | None, why: str
) -> None:
    """Nothing else tells that no record of another writer is among what was deleted."""
    target = Target(journal=[fixed(50)], start=60, kept=60, entries={} if entry is None else {9: entry})
    ownership = take(target, persisted=Persisted(60, 60, 3))
    if why:
        assert (ownership.mode, ownership.why) == (LaneMode.MAPPED, why)
    else:
        assert (ownership.mode, ownership.sequence) == (LaneMode.IDENTITY, 60)
    assert ownership.position == 60


def test_a_lane_that_never_wrote_begins_at_its_start_whatever_the_target_remembers_of_none() -> None:
    """The log begins there, so that nothing of the lane can have been deleted."""
    ownership = take(Target(journal=[fixed(50)], start=50))
    assert (ownership.mode, ownership.position, ownership.sequence) == (LaneMode.IDENTITY, 50, 50)
