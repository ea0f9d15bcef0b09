"""What a plan says of one group: the exact answer, or every reason why there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from positions_samples import TO_A, TO_B, A, B, group, mapping, snapshot

from anabranch.groups.baseline import Coverage, baseline
from anabranch.groups.continuous_sync import SyncState, plan_round
from anabranch.groups.create import create
from anabranch.groups.plan import GroupStep, plan
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.groups.snapshot import PartitionMapping, UnavailableMapping
from anabranch.groups.translation import translate_commit as answer_of
from anabranch.groups.undo import UndoRecord, undo
from anabranch.model.groups import Commit, GroupKind, GroupState, Member
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap

pytestmark = pytest.mark.unit


def whys(found: object) -> list[ReasonKind]:
    """The kinds of reasons of the only group."""
    return [refusal.why for refusal in found.groups[0].reasons]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("committed", "answer"), [(10, 0), (19, 9), (20, 10), (24, 10), (25, 10), (29, 14), (30, 15), (32, 15)]
)
def test_an_answer_shows_exactly_what_was_not_read(committed: int, answer: int) -> None:
    """In a run, in a gap, and at the map's end; no lag is negative; metadata is kept, the leader epoch is not."""
    found = plan(snapshot(group({A: Commit(committed, "noted", 50)})), ["g"])
    (move,) = found.groups[0].moves
    assert found.groups[0].step is GroupStep.MOVE
    assert found.groups[0].writes == {TO_A: Commit(answer, "noted", -1)}
    assert move.lag == 15 - answer
    assert found.groups[0].former == {TO_A: None}


def test_positions_outside_of_the_map_are_refused() -> None:
    """Not copied yet, before the link's start, and expired on the target alone; and each has a next step."""
    for committed, fields, why in (
        (33, {}, ReasonKind.NOT_COPIED),
        (9, {}, ReasonKind.BEFORE_START),
        (12, {"target_start": 5}, ReasonKind.EXPIRED),
        (29, {"end": 13}, ReasonKind.NOT_COPIED),
    ):
        found = plan(snapshot(group({A: Commit(committed)}), mappings={A: mapping(**fields)}), ["g"])
        assert whys(found) == [why]
        assert found.groups[0].step is GroupStep.REFUSED
        assert found.groups[0].reasons[0].fix
        assert not found.groups[0].writes


def test_what_both_logs_have_lost_is_no_reason() -> None:
    """A reader then goes on at the first record that is left, and not at a position that no log has."""
    found = plan(snapshot(group({A: Commit(4)}), mappings={A: mapping(source_start=10)}), ["g"])
    assert found.groups[0].writes == {TO_A: Commit(0)}
    found = plan(snapshot(group({A: Commit(12)}), mappings={A: mapping(source_start=16, target_start=6)}), ["g"])
    assert found.groups[0].writes == {TO_A: Commit(6)}


def test_every_reason_is_named_at_once() -> None:
    """A group that is read in on both sides, moves, would go backwards, and has partitions elsewhere."""
    here = group({A: Commit(12, "x" * 9), B: Commit(1)}, state=GroupState.STABLE)
    there = group({TO_A: Commit(9)}, state=GroupState.STABLE)
    later = {"g": {A: Commit(13, "x" * 9), B: Commit(1)}}
    found = plan(snapshot(here, there, later=later, pending={"g": (B,)}, metadata_limit=8), ["g"])
    assert set(whys(found)) == {
        ReasonKind.ACTIVE,
        ReasonKind.MOVING,
        ReasonKind.BACKWARDS,
        ReasonKind.METADATA,
        ReasonKind.NOT_IN_LINK,
    }
    assert whys(found).count(ReasonKind.MOVING) == 3


def test_metadata_is_measured_as_brokers_do() -> None:
    """In UTF-16 units: two for a letter outside of the basic plane."""
    assert whys(plan(snapshot(group({A: Commit(12, "é" * 8)}), metadata_limit=8), ["g"])) == []
    assert whys(plan(snapshot(group({A: Commit(12, "𝄞" * 5)}), metadata_limit=8), ["g"])) == [ReasonKind.METADATA]


@pytest.mark.parametrize("kind", [GroupKind.SHARE, GroupKind.STREAMS, GroupKind.CONNECT, GroupKind.SCHEMAS])
def test_kinds_whose_position_is_more_than_commits_get_advice(kind: GroupKind) -> None:
    """They are never moved, though their commits could be translated."""
    found = plan(snapshot(group({A: Commit(12)}, kind=kind)), ["g"])
    assert whys(found) == [ReasonKind.KIND]
    assert found.groups[0].reasons[0].fix


def test_members_make_a_group_active_whatever_its_state() -> None:
    """A group whose members are known is read in, even where its state is told as empty."""
    here = group({A: Commit(12)})
    there = group({})
    there = type(there)(there.name, there.kind, there.state, (Member("m", "c", "h"),), {})
    assert whys(plan(snapshot(here, there), ["g"])) == [ReasonKind.ACTIVE]


def test_a_doubtful_map_and_an_empty_group_are_refused() -> None:
    """The reason of the map is handed on; a group without commits is for groups create."""
    doubt = UnavailableMapping("runs contradict the log", "ask again")
    found = plan(snapshot(group({A: Commit(12)}), mappings={A: doubt}), ["g"])
    assert whys(found) == [ReasonKind.UNAVAILABLE]
    assert "runs contradict the log" in found.groups[0].reasons[0].what
    assert whys(plan(snapshot(group({})), ["g"])) == [ReasonKind.NO_COMMITS]


def test_a_plans_hash_is_of_what_it_rests_on() -> None:
    """Commits, states and answers change it; the end of the target's log, which moves under producers, does not.

    Of a refused group it only counts that it is refused: one that is read in does not hold up the others.
    """
    here = group({A: Commit(12)})
    first = plan(snapshot(here), ["g"]).hash
    assert plan(snapshot(here, mappings={A: mapping(end=99)}), ["g"]).hash == first
    others = [
        snapshot(group({A: Commit(13)})),
        snapshot(group({A: Commit(12, "noted")})),
        snapshot(here, group({TO_A: Commit(1)})),
        snapshot(here, group({}, state=GroupState.STABLE)),
    ]
    assert len({first, *(plan(other, ["g"]).hash for other in others)}) == 5
    moving = [snapshot(group({A: Commit(at)}), later={"g": {A: Commit(at + 1)}}) for at in (12, 13)]
    assert len({first, *(plan(one, ["g"]).hash for one in moving)}) == 2
    refused = [plan(snapshot(group({A: Commit(at)}, name)), [name]) for name, at in (("g", 33), ("g", 40), ("h", 33))]
    assert {one.groups[0].step for one in refused} == {GroupStep.REFUSED}
    assert refused[0].hash == refused[1].hash != refused[2].hash


def test_topics_that_do_not_count_are_left_out_and_counted() -> None:
    """A group of which only a part is moved says so."""
    found = plan(snapshot(group({A: Commit(12), B: Commit(3)})), ["g"], frozenset({"none"}))
    assert found.left_out == {"g": 2}
    assert whys(found) == [ReasonKind.NO_COMMITS]


def test_marks_tell_what_would_be_lost() -> None:
    """Before the lane's begin, in it, gone on both sides, and where no lane has begun."""
    for committed, source_start, verdict in (
        (4, 0, Coverage.BEFORE),
        (12, 0, Coverage.COVERED),
        (4, 10, Coverage.GONE),
    ):
        made = baseline("old-new", group({A: Commit(committed)}), {A: mapping(source_start=source_start)}, 7)
        assert made.coverage is verdict
    made = baseline("old-new", group({A: Commit(4), B: Commit(1)}), {A: UnavailableMapping("", "")}, 7)
    assert [one.coverage for one in made.partitions] == [Coverage.UNKNOWN, Coverage.NOT_IN_LINK]


def test_a_position_at_the_link_begin_is_covered() -> None:
    """The next record to read is the first that was copied; a group is as badly off as its worst partition."""
    mappings = {A: mapping(), B: mapping(TO_B)}
    assert baseline("old-new", group({A: Commit(10)}), mappings, 7).coverage is Coverage.COVERED
    made = baseline("old-new", group({A: Commit(12), B: Commit(9)}), mappings, 7)
    assert [one.coverage for one in made.partitions] == [Coverage.COVERED, Coverage.BEFORE]
    assert made.coverage is Coverage.BEFORE


def test_a_first_commit_in_between_is_a_move_too() -> None:
    """A partition that had no commit at the first look has one at the second: somebody reads."""
    found = plan(snapshot(group({A: Commit(12)}), later={"g": {A: Commit(12), B: Commit(1)}}), ["g"])
    assert whys(found) == [ReasonKind.MOVING]


def test_a_note_alone_is_worth_a_move() -> None:
    """The offset is there already, what the application noted with it is not."""
    found = plan(snapshot(group({A: Commit(12, "noted")}), group({TO_A: Commit(2)})), ["g"])
    assert (found.groups[0].step, found.groups[0].writes) == (GroupStep.MOVE, {TO_A: Commit(2, "noted")})


def test_one_refused_partition_refuses_the_group() -> None:
    """Nothing is written of the partitions that could be moved."""
    found = plan(snapshot(group({A: Commit(12), B: Commit(1)})), ["g"])
    assert (whys(found), found.groups[0].step) == ([ReasonKind.NOT_IN_LINK], GroupStep.REFUSED)
    assert found.groups[0].writes == {}


def test_another_answer_is_another_plan() -> None:
    """The same commits in a lane that was begun anew are other offsets on the target."""
    here = group({A: Commit(12)})
    other = PartitionMapping(TO_A, OffsetMap.of([MappedRange(10, 3, 10)], 10, 0), 0, 0, 15)
    plans = [plan(snapshot(here, mappings={A: one}), ["g"]) for one in (mapping(), other)]
    assert [one.groups[0].moves[0].answer for one in plans] == [2, 5]
    assert plans[0].hash != plans[1].hash


def test_a_group_that_a_move_made_stays_where_it_has_committed_more() -> None:
    """Undoing takes away what was written and not the group; what was undone once is not undone again."""
    record = UndoRecord("u", "g", False, {TO_A: None}, {TO_A: Commit(2)}, 1, "groups sync old-new")
    found = undo(record, group({TO_A: Commit(2), TO_B: Commit(7)}))
    assert (found.delete, found.delete_group, found.refusals) == ((TO_A,), False, ())
    assert undo(record, group({TO_A: Commit(2)})).delete_group
    again = undo(replace(record, undone_at_ms=9), group({TO_A: Commit(2)}))
    assert ([one.why for one in again.refusals], again.empty) == ([ReasonKind.UNDONE], True)


def test_groups_that_sync_by_hand_refuses_are_not_followed() -> None:
    """A Streams application, an open transaction, too much metadata: held or waiting, and nothing is written."""
    there = group({TO_A: Commit(1)})
    held = plan_round(snapshot(group({A: Commit(12)}, kind=GroupKind.STREAMS), there), ["g"], {})
    assert (held.groups[0].state, held.groups[0].writes) == (SyncState.BLOCKED, {})
    opened = plan_round(snapshot(group({A: Commit(12)}), there, pending={"g": (A,)}), ["g"], {})
    assert (opened.groups[0].state, opened.groups[0].writes) == (SyncState.WAITING, {})
    large = plan_round(snapshot(group({A: Commit(12, "x" * 9)}), there, metadata_limit=8), ["g"], {})
    assert (large.groups[0].state, large.groups[0].writes) == (SyncState.BLOCKED, {})


def test_a_commit_that_is_not_copied_yet_waits_and_the_one_before_it_is_written_first() -> None:
    """So the target has positions that the group really had; how it stands is told with what it waits for."""
    ahead = plan_round(snapshot(group({A: Commit(40, "new")}), group({})), ["g"], {})
    (one,) = ahead.groups
    assert (one.state, one.writes, one.why) == (SyncState.WAITING, {}, f"not copied yet: {A}")
    assert ahead.waiting == {"g": {A: Commit(40, "new")}}
    for older, waits in ((Commit(35), Commit(35)), (Commit(50), Commit(40, "new")), (Commit(40), Commit(40, "new"))):
        found = plan_round(snapshot(group({A: Commit(40, "new")}), group({})), ["g"], {"g": {A: older}})
        assert (found.groups[0].writes, found.waiting) == ({}, {"g": {A: waits}})
    reached = plan_round(snapshot(group({A: Commit(40, "new")}), group({})), ["g"], {"g": {A: Commit(27, "old")}})
    assert (reached.groups[0].state, reached.groups[0].writes) == (SyncState.WAITING, {TO_A: Commit(12, "old")})
    assert reached.waiting == {"g": {A: Commit(40, "new")}}
    further = plan_round(
        snapshot(group({A: Commit(40)}), group({TO_A: Commit(14)})), ["g"], {"g": {A: Commit(27, "old")}}
    )
    assert (further.groups[0].state, further.groups[0].writes) == (SyncState.WAITING, {}), "it is there already"
    copied = plan_round(snapshot(group({A: Commit(29)}), group({})), ["g"], {"g": {A: Commit(27)}})
    assert (copied.groups[0].state, copied.groups[0].writes, copied.waiting) == (
        SyncState.IN_SYNC,
        {TO_A: Commit(14)},
        {},
    )


def test_what_waits_in_a_group_goes_on_waiting_while_a_transaction_holds_its_commits() -> None:
    """Of a group that is blocked as a whole, or has members on the target, nothing waits."""
    kept = {"g": {A: Commit(27)}}
    opened = plan_round(snapshot(group({A: Commit(40)}), group({}), pending={"g": (B, A)}), ["g"], kept)
    assert opened.waiting == kept
    assert opened.groups[0].why == f"{A} is committed in an open transaction"
    reading = group({}, state=GroupState.STABLE)
    active = plan_round(snapshot(group({A: Commit(12)}), reading), ["g", "g"], kept)
    assert [(one.state, one.writes) for one in active.groups] == [(SyncState.ACTIVE, {})] and active.waiting == {}
    streams = group({}, kind=GroupKind.STREAMS)
    assert plan_round(snapshot(group({A: Commit(12)}), streams), ["g"], kept).groups[0].state is SyncState.BLOCKED


def test_what_blocks_a_partition_leaves_the_others_of_its_group_moving() -> None:
    """The first reason is told, and how many more there are; topics that the link does not copy are none."""
    beyond = TopicPartition("other", 0)
    commits = {A: Commit(12), B: Commit(12), beyond: Commit(5)}
    mappings = {A: mapping(), B: UnavailableMapping("its lane is stopped", "resume it")}
    found = plan_round(snapshot(group(commits), group({}), mappings=mappings), ["g"], {})
    (one,) = found.groups
    assert (one.state, one.writes, one.why) == (
        SyncState.BLOCKED,
        {TO_A: Commit(2)},
        f"{B}: its lane is stopped",
    )
    both = {A: UnavailableMapping("gone", ""), B: UnavailableMapping("its lane is stopped", "resume it")}
    (one,) = plan_round(snapshot(group(commits), group({}), mappings=both), ["g"], {}).groups
    assert (one.state, one.writes, one.why) == (SyncState.BLOCKED, {}, f"{A}: gone, and 1 more")
    waits = {A: mapping(), B: mapping(TO_B)}
    (one,) = plan_round(snapshot(group({A: Commit(40), B: Commit(41)}), mappings=waits), ["g"], {}).groups
    assert (one.state, one.why) == (SyncState.WAITING, f"not copied yet: {A} and 1 more")
    same = group({TO_A: Commit(2)})
    (one,) = plan_round(snapshot(group({A: Commit(12)}), same), ["g"], {}).groups
    assert (one.state, one.writes) == (SyncState.IN_SYNC, {})
    (one,) = plan_round(snapshot(group({A: Commit(12, "noted")}), same), ["g"], {}).groups
    assert one.writes == {TO_A: Commit(2, "noted")}


def test_a_plan_is_good_only_where_no_group_is_refused() -> None:
    """Whatever else the others are."""
    assert plan(snapshot(group({A: Commit(12)})), ["g"]).ok
    assert not plan(snapshot(group({A: Commit(40)})), ["g"]).ok


@pytest.mark.parametrize("there", [3, 9])
def test_a_group_that_stands_further_on_the_target_is_not_moved_back(there: int) -> None:
    """By one record as little as by many: it would read them again; where it stands is as it is to be."""
    here, further = group({A: Commit(12)}), group({TO_A: Commit(there)})
    asked = plan(snapshot(here, further), ["g"])
    assert (whys(asked), asked.groups[0].writes) == ([ReasonKind.BACKWARDS], {})
    followed = plan_round(snapshot(here, further), ["g"], {})
    assert (followed.groups[0].state, followed.groups[0].writes) == (SyncState.BLOCKED, {})
    assert whys(plan(snapshot(here, group({TO_A: Commit(2)})), ["g"])) == []


def test_a_subscription_is_refused_where_something_is_committed_or_read() -> None:
    """Whatever the offset; and where nothing is left to begin at."""
    found = create("new", "g", [A.topic], StartPosition(), {A: 4, B: 5}, group({B: Commit(9)}, state=GroupState.STABLE))
    assert [one.why for one in found.refusals] == [ReasonKind.ACTIVE, ReasonKind.EXISTS]
    assert create("new", "g", [A.topic], StartPosition(), {A: 4}, None).begins == {A: Commit(4)}
    assert [one.why for one in create("new", "g", [A.topic], StartPosition(), {}, None).refusals] == [
        ReasonKind.NO_COMMITS
    ]


def test_groups_are_selected_by_whole_names_and_exclude_wins() -> None:
    """With and without patterns; a pattern that matches none is an error."""
    known = ["shop", "shop-2", "till"]
    assert GroupSelection(("sh.p",)).names(known, "old") == ["shop"]
    assert GroupSelection(exclude=("shop.*",)).names(known, "old") == ["till"]
    assert GroupSelection(("shop.*",), ("shop",)).names(known, "old") == ["shop-2"]
    with pytest.raises(NoSuchGroupError):
        GroupSelection(("sho",)).names(known, "old")


def test_an_answer_is_the_same_whether_the_map_s_oldest_runs_were_retired_or_not() -> None:
    """They are retired only below both logs' starts, and positions there are answered by what the logs still have."""
    whole = OffsetMap.of(
        [MappedRange(10, 0, 10), MappedRange(25, 10, 5), MappedRange(33, 15, 5), MappedRange(45, 22, 8)]
    )
    left = OffsetMap.of(list(whole)[2:])
    for source_start, target_start in product(range(33, 50, 4), range(15, 30, 3)):
        for offset in range(60):
            told = [
                answer_of(PartitionMapping(TO_A, ranges, source_start, target_start, 30), Commit(offset), "old-new")
                for ranges in (whole, left)
            ]
            if isinstance(told[0], Reason):
                assert isinstance(told[1], Reason) and told[0].why is told[1].why, (offset, source_start, told)
            else:
                assert told[0] == told[1], (offset, source_start, target_start, told)
