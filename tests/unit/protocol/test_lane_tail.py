"""The position is read from the target's log: by sequences, gap records and persisted runs, and never beside them."""

from __future__ import annotations

from typing import Any

import pytest
from test_lane_takeover import Target, claim, data, marker, request

from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol import (
    GapRecord,
    LaneStopped,
    Ownership,
    Persisted,
    ReadMappedRanges,
    ReportedPosition,
    Stop,
    TailBatch,
    takeover,
)
from anabranch.protocol.gap_records import OffsetSpan
from anabranch.protocol.tail import REPLACED_REACH, SEAM_REACH

pytestmark = pytest.mark.unit

LATER = GapRecord("t-0", 1, 60, 1, (OffsetSpan(90, 1),))
"""The second gap record of producer id 1; the first one is forgotten, so that what lies before it is told by runs."""


def take(target: Target, **changes: Any) -> Ownership:
    """Take the lane over."""
    ownership: Ownership = target.run(takeover(request(**changes)))
    return ownership


def stop(target: Target, **changes: Any) -> LaneStopped:
    """How the lane stops."""
    with pytest.raises(LaneStopped) as stopped:
        take(target, **changes)
    return stopped.value


# -- persisted runs -------------------------------------------------------------------------------------


def test_a_batch_whose_gap_record_is_forgotten_is_told_by_the_persisted_runs() -> None:
    """Every record of it, in whatever runs they lie."""
    runs = (MappedRange(50, 0, 4), MappedRange(70, 4, 2), MappedRange(80, 6, 1))
    target = Target([data(0, 4, 1, 50), data(4, 3, 1, 54)], [claim(1)], [LATER], runs)
    ownership = take(target)
    assert (ownership.position, ownership.sequence, ownership.tail_end) == (81, 81, 7)
    assert ReadMappedRanges("t-0", 4, 7) in target.asked
    inside = Target([data(4, 3, 1, 54)], [claim(1)], [LATER], (MappedRange(70, 0, 10),), start=4)
    assert take(inside).position == 77


@pytest.mark.parametrize(
    "runs",
    [
        (),
        (MappedRange(70, 4, 2),),
        (MappedRange(70, 5, 2),),
        (MappedRange(70, 4, 1), MappedRange(80, 6, 1)),
        (MappedRange(40, 0, 4), MappedRange(90, 7, 4)),
    ],
    ids=["no run", "the last record's is missing", "the first record's is missing", "one between", "only others"],
)
def test_a_batch_that_the_persisted_runs_do_not_tell_whole_stops_the_lane(runs: tuple[MappedRange, ...]) -> None:
    """Where the gap record is forgotten its offsets are never guessed."""
    stopped = stop(Target([data(4, 3, 1, 54)], [claim(1)], [LATER], runs, start=4))
    assert (stopped.reason, stopped.offset) == (Stop.POSITION_LOST, 50)
    assert "the gap record that told target offset 4 is forgotten" in stopped.message
    persisted = Persisted(75, 6, 3)
    assert stop(Target([data(4, 3, 1, 54)], [claim(1)], [LATER], runs, start=4), persisted=persisted).offset == 75


@pytest.mark.parametrize(("sequence", "follows"), [(74, True), (60, False), (73, False), (75, False)])
def test_an_owner_goes_on_where_the_persisted_runs_of_the_one_before_end(sequence: int, follows: bool) -> None:
    """A batch that begins elsewhere was appended past a gap."""
    log = [data(0, 4, 1, 50), data(4, 3, 2, sequence)]
    target = Target(log, [claim(1), claim(2)], [LATER], (MappedRange(70, 0, 4),))
    if follows:
        assert take(target).position == 77
        return
    stopped = stop(target)
    assert (stopped.reason, stopped.offset) == (Stop.DIVERGED, min(74, sequence))
    assert f"target offset 4 holds source offset {sequence}, not 74" in stopped.message


def test_a_batch_before_the_last_that_nothing_tells_any_more_is_believed() -> None:
    """Both its gap record and its runs are gone, and nothing says that they did not follow each other."""
    target = Target([data(0, 4, 1, 50), data(4, 3, 2, 74)], [claim(1), claim(2)], [LATER])
    assert take(target).position == 77


# -- the seam -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "start"),
    [
        ([data(0, 3, 1, 50), data(5, 2, 1, 60)], 0),
        ([marker(0, 9), data(5, 2, 1, 60)], 0),
        ([data(5, 2, 1, 60)], 5),
    ],
    ids=["compaction", "compaction behind a marker", "retention"],
)
def test_what_the_target_has_dropped_between_batches_is_no_gap_in_the_copy(log: list[TailBatch], start: int) -> None:
    """Only batches that touch are compared."""
    assert take(Target(log, [claim(1)], start=start)).position == 62


@pytest.mark.parametrize(("sequence", "follows"), [(53, True), (52, False), (54, False)])
@pytest.mark.parametrize("writer", [1, 2])
def test_batches_follow_each_other_over_markers_and_other_writers(sequence: int, follows: bool, writer: int) -> None:
    """Of the same owner and of the next one."""
    between = [marker(3, 9), data(4, 1, 77, 0), data(5, 1, -1, -1)]
    target = Target([data(0, 3, 1, 50), *between, data(6, 2, writer, sequence)], [claim(1), claim(2)])
    if follows:
        assert take(target).position == 55
        return
    stopped = stop(target)
    assert (stopped.reason, stopped.offset) == (Stop.DIVERGED, min(53, sequence))


# -- what was persisted ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "start", "persisted"),
    [
        ([data(10, 2, 1, 53)], 10, Persisted(80, 5, 3)),
        ([data(0, 3, 1, 50), data(5, 2, 1, 53)], 0, Persisted(80, 4, 3)),
        ([data(0, 3, 1, 50), marker(3, 9), data(4, 2, 1, 53)], 0, Persisted(80, 4, 3)),
        ([data(0, 3, 1, 50), data(3, 1, -1, -1), data(4, 2, 1, 53)], 0, Persisted(80, 4, 3)),
        ([data(0, 3, 1, 50), data(3, 2, 1, 53)], 0, Persisted(80, 6, 3)),
        ([data(0, 3, 1, 50), data(3, 2, 1, 53)], 0, Persisted(80, 2, 3)),
        ([data(0, 3, 1, 50), data(3, 2, 1, 53)], 0, None),
    ],
    ids=[
        *("deleted", "compacted", "a marker in its place", "a plain writer's record in its place"),
        *("cut", "persisted in part", "never"),
    ],
)
def test_a_persisted_run_whose_last_record_is_not_in_the_log_says_nothing_of_what_is(
    log: list[TailBatch], start: int, persisted: Persisted | None
) -> None:
    """The lane goes on behind its last batch."""
    ownership = take(Target(log, [claim(1)], start=start), persisted=persisted)
    assert (ownership.position, ownership.is_replaced) == (55, False)


@pytest.mark.parametrize("told", [True, False])
def test_a_persisted_run_is_compared_where_gap_records_tell_its_last_batch(told: bool) -> None:
    """Where they do no more, the run itself is what tells it."""
    log = [data(0, 3, 1, 57), data(3, 2, 2, 60)]
    target = Target(log, [claim(1), claim(2)], [] if told else [LATER], (MappedRange(57, 0, 3),))
    ownership = take(target, persisted=Persisted(60, 3, 3), start=50 if not told else 57)
    assert (ownership.position, ownership.is_replaced) == (62, False)


def test_a_persisted_range_of_which_nothing_else_lies_in_the_log_is_of_this_log() -> None:
    """Its beginning was deleted; what is left of it is the lane's, so gap records must be lost."""
    stopped = stop(Target([data(4, 2, 1, 54)], [claim(1)], start=4), persisted=Persisted(70, 6, 3, target_start=2))
    assert (stopped.reason, stopped.offset) == (Stop.POSITION_LOST, 56)
    assert "target offset 5 was persisted as source offset 69" in stopped.message
    assert "tell 55: gap records are lost" in stopped.message


@pytest.mark.parametrize(("first", "at", "is_replaced"), [(0, 1, True), (1, 1, False), (2, 4, False)])
def test_only_what_lies_within_a_persisted_range_shows_that_it_is_of_another_log(
    first: int, at: int, is_replaced: bool
) -> None:
    """A marker right before it does not, nor one below a beginning that was compacted away."""
    target = Target([marker(0, 9), data(at, 3, 1, 50)], [claim(1)])
    persisted = Persisted(70, at + 3, 3, target_start=first)
    if is_replaced:
        ownership = take(target, persisted=persisted)
        assert (ownership.position, ownership.is_replaced) == (53, True)
    else:
        assert stop(target, persisted=persisted).reason is Stop.POSITION_LOST


@pytest.mark.parametrize(("own", "is_replaced"), [(REPLACED_REACH - 1, True), (REPLACED_REACH, False)])
def test_a_marker_further_down_than_a_truncation_reaches_shows_nothing(own: int, is_replaced: bool) -> None:
    """As many batches are looked at as followers may have lacked."""
    log = [marker(0, 9), *(data(1 + at, 1, 1, 50 + at) for at in range(own))]
    persisted = Persisted(9_000, own + 1, 3, target_start=0)
    if is_replaced:
        assert take(Target(log, [claim(1)]), persisted=persisted).is_replaced
    else:
        assert stop(Target(log, [claim(1)]), persisted=persisted).reason is Stop.POSITION_LOST


# -- what was reported ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("others", "found"), [(SEAM_REACH - 1, True), (SEAM_REACH, False)])
def test_a_reported_position_is_compared_with_the_last_batch_below_it(others: int, found: bool) -> None:
    """Other writers' batches are passed over, as far as is looked."""
    between = [data(3 + at, 1, 77, at) for at in range(others)]
    target = Target([data(0, 3, 1, 50), *between, data(3 + others, 1, 1, 53)], [claim(1)])
    reported = ReportedPosition(60, 3 + others)
    if not found:
        assert take(target, reported=reported).position == 54
        return
    stopped = stop(target, reported=reported)
    assert (stopped.reason, stopped.offset) == (Stop.POSITION_LOST, 53)
    assert f"reported as reached at target offset {3 + others:,}, and the sequences there tell 53" in stopped.message


@pytest.mark.parametrize(
    ("log", "start"),
    [([data(5, 2, 1, 60)], 5), ([data(0, 12, 1, 50)], 0)],
    ids=["it was deleted", "another batch lies across it"],
)
def test_a_reported_position_below_which_no_batch_ends_says_nothing(log: list[TailBatch], start: int) -> None:
    """There is nothing to compare it with."""
    assert take(Target(log, [claim(1)], start=start), reported=ReportedPosition(59, 5)).position == 62


# -- nothing of the lane is left ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known_to", "reported", "position"),
    [
        (30, ReportedPosition(85, 30), 85),
        (30, ReportedPosition(70, 20), 80),
        (30, None, 80),
        (-1, ReportedPosition(85, 30), 80),
    ],
)
def test_offsets_without_a_record_behind_the_last_one_need_not_be_read_again(
    known_to: int, reported: ReportedPosition | None, position: int
) -> None:
    """Where an owner looked, and so nothing of the lane lay behind its last run."""
    target = Target(journal=[claim(1)], start=30, kept=30)
    ownership = take(target, persisted=Persisted(80, 30, 3, known_to), reported=reported)
    assert (ownership.position, ownership.tail_end) == (position, 30)
