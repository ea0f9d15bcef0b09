"""Taking over identity lanes with padded heads and filled gaps: what is believed, and what makes the lane mapped."""

from __future__ import annotations

from typing import Any

import pytest
from test_lane_takeover import NOW, Target, data, request

from anabranch.model.lane import LaneMode
from anabranch.protocol import LaneStopped, Ownership, ProducerState, Stop, TailBatch, takeover
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.gap_records import GapRecord, OffsetSpan

pytestmark = pytest.mark.unit

FILLER = 900


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


def test_padding_that_cannot_go_on_stops_the_lane() -> None:
    """Records never lie among padding."""
    with pytest.raises(LaneStopped) as stopped:
        take(Target([data(0, 20, 9, 0), data(20, 1, 77, 0)], [fixed(50)], entries={9: ProducerState(0, 19)}))
    assert stopped.value.reason is Stop.DIVERGED and "padded up to 21 of 50" in stopped.value.message


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
