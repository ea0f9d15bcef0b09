"""Taking over identity lanes with padded heads and filled holes: what is believed, and what makes the lane mapped."""

from __future__ import annotations

from typing import Any

import pytest
from test_lane_takeover import NOW, Target, bid, data

from anabranch.model.lane import LaneMode
from anabranch.protocol import LaneStopped, ProducerEntry, Stop, TailBatch, Tenure, takeover
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.holes import Jump, Stretch

pytestmark = pytest.mark.unit

FILLER = 900


def fixed(start: int, floor: int = 0) -> Claim:
    """The first identity claim."""
    return Claim("t-0", 9, LaneMode.IDENTITY, "other", None, NOW, ClaimState.CLAIMED, start, floor)


def marker(at: int, producer_id: int = FILLER) -> TailBatch:
    """A control batch."""
    return TailBatch(at, at, producer_id, -1, True, NOW)


def jump(sequence: int, to: int) -> Jump:
    """A jump of the lane's producer id."""
    return Jump("t-0", 9, sequence, to, (Stretch(to, 1),))


def take(target: Target, **changes: Any) -> Tenure:
    """Take the lane over, wanting identity."""
    tenure: Tenure = target.run(takeover(bid(**{"mode": LaneMode.IDENTITY, **changes})))
    return tenure


@pytest.mark.parametrize(("log", "at"), [([], 0), ([data(0, 20, 9, 0)], 20)])
def test_an_empty_target_is_padded_up_to_the_start_and_goes_on_after_a_crash(log: list[TailBatch], at: int) -> None:
    """Padding has its offset as its sequence, whoever writes it, whatever is wanted by then."""
    entries = {9: ProducerEntry(0, at - 1)} if at else {}
    for mode in LaneMode:
        tenure = take(Target(log, [fixed(50)], entries=entries), mode=mode)
        assert (tenure.mode, tenure.position, tenure.sequence, tenure.is_padded) == (LaneMode.IDENTITY, at, at, False)


def test_padding_that_cannot_go_on_stops_the_lane() -> None:
    """Records never lie among padding."""
    with pytest.raises(LaneStopped) as stopped:
        take(Target([data(0, 20, 9, 0), data(20, 1, 77, 0)], [fixed(50)], entries={9: ProducerEntry(0, 19)}))
    assert stopped.value.reason is Stop.DIVERGED and "padded up to 21 of 50" in stopped.value.message


def test_a_padded_lane_without_a_record_is_at_its_start_in_either_mode() -> None:
    """Padding that was deleted is no record that was lost; its age does not matter."""
    for log in ([], [data(0, 50, 9, 0, 5)]):
        entries = {9: ProducerEntry(0, 49)} if not log else {}
        for mode in LaneMode:
            target = Target(list(log), [fixed(50)], start=0 if log else 50, entries=entries)
            tenure = take(target, mode=mode)
            assert (tenure.mode, tenure.position) == (mode, 50)


def test_a_target_with_records_short_of_the_start_is_never_padded() -> None:
    """They are not the lane's to delete."""
    assert take(Target([data(0, 20, 77, 0)]), start=50).mode is LaneMode.MAPPED


HELD = [data(0, 10, 9, 0)]
ENTRY = {9: ProducerEntry(0, 9)}


@pytest.mark.parametrize("filled", [0, 1, 3])
def test_a_hole_that_is_partly_filled_goes_on_where_the_log_ends(filled: int) -> None:
    """The jump that was written first says where the next record belongs."""
    log = HELD + [marker(10 + n) for n in range(filled)]
    tenure = take(Target(log, [fixed(0)], jumps=[jump(0, 0), jump(10, 13)], entries=ENTRY), start=0)
    assert tenure.mode is LaneMode.IDENTITY
    assert (tenure.position, tenure.sequence, tenure.ahead, tenure.tail_end) == (10 + filled, 10, 13, 10)


@pytest.mark.parametrize(("jumps", "markers"), [([jump(0, 0), jump(10, 13)], 4), ([], 1)])
def test_a_marker_too_many_makes_the_lane_mapped_at_the_exact_record(jumps: list[Jump], markers: int) -> None:
    """Under identity the next owner would leave a record out."""
    log = HELD + [marker(10 + n) for n in range(markers)]
    target = Target(log, [fixed(0)], jumps=jumps, entries=ENTRY)
    tenure = take(target, start=0)
    assert tenure.mode is LaneMode.MAPPED and "a marker too many" in tenure.why
    assert tenure.position == 10


def test_behind_a_hole_the_sequence_counts_records_and_the_jump_tells_their_place() -> None:
    """A record that lies elsewhere is found out, and told from its sequence."""
    log = [*HELD, *(marker(10 + n) for n in range(3)), data(13, 4, 9, 10)]
    jumps = [jump(0, 0), jump(10, 13)]
    tenure = take(Target(log, [fixed(0)], jumps=jumps, entries={9: ProducerEntry(0, 13)}), start=0)
    assert (tenure.mode, tenure.position, tenure.sequence, tenure.ahead) == (LaneMode.IDENTITY, 17, 14, -1)
    log = [*HELD, *(marker(10 + n) for n in range(4)), data(14, 4, 9, 10)]
    tenure = take(Target(log, [fixed(0)], jumps=jumps, entries={9: ProducerEntry(0, 13)}), start=0)
    assert tenure.mode is LaneMode.MAPPED and "shifted" in tenure.why and tenure.position == 17


def test_jumps_past_a_truncation_are_void_until_the_lane_comes_there_again() -> None:
    """The log fell back into the first of two holes."""
    log = [*HELD, marker(10)]
    jumps = [jump(0, 0), jump(10, 13), jump(15, 20)]
    tenure = take(Target(log, [fixed(0)], jumps=jumps, entries=ENTRY), start=0)
    assert (tenure.mode, tenure.position, tenure.ahead) == (LaneMode.IDENTITY, 11, 13)
