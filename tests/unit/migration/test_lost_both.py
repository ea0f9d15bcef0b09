"""Clusters are lost one after the other, or again before all was made up for: nothing of the first is forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from anabranch.migration.ends import End
from anabranch.migration.inherited import inherited
from anabranch.migration.left_out import LEFT_OUT
from anabranch.migration.options import PLAIN
from anabranch.migration.run import PassedError, WaveRun, WaveRunState, begun, lost_meanwhile, turned
from anabranch.migration.spec import FenceKind, Wave, WaveOrder
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import Part, StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for
from tests.unit.migration.test_lost_way_back import (
    LOST,
    WHY,
    at_each_point,
    done,
    ended,
    made,
    stands,
    switched,
    waves,
)

pytestmark = pytest.mark.unit

FENCED = Wave("orders", ("orders",), ("shop",), codes=("orders",), fences=(FenceKind.ACL, FenceKind.ROUTES))
FENCE = "put back what was left: fence producers: acl"


def at(run: WaveRun, kind: StepKind) -> WaveRun:
    """A run within a step."""
    return next(one for one in at_each_point(run) if one.is_begun and one.step is not None and one.step.kind is kind)


def lost_at(wave: Wave, runs: list[WaveRun], verb: WaveVerb, kind: StepKind, end: End) -> WaveRun:
    """A run that was ended without a cluster that died within a step of it."""
    return ended(lost_meanwhile(at(made(wave, runs, verb), kind), WHY, end), wave, lambda _: None)


def told(run: WaveRun) -> list[str]:
    """What it does."""
    return [f"{step.kind.value}: {step.subject}" for step in run.steps]


def test_the_way_back_of_producers_that_went_ahead_runs_once_the_source_is_back() -> None:
    """It was left out as they were led: their consumers, which are there still, read nothing until then."""
    wave = replace(FENCED, order=WaveOrder.PRODUCERS_FIRST)
    runs = [done(made(wave, [], WaveVerb.START))]
    runs.append(lost_at(wave, runs, WaveVerb.SWITCH, StepKind.ROUTES, End.SOURCE))
    now = stands(wave, runs)
    assert (now.switched, now.gone, now.is_halted) == ((Part.PRODUCERS,), End.SOURCE, True)
    with pytest.raises(WaveStateError, match="link move-orders-back may stand still since old was lost") as error:
        steps_for(now, WaveVerb.SWITCH)
    assert error.value.hint.endswith("`anabranch migrate reconcile move --wave orders`")
    back = made(wave, runs, WaveVerb.RECONCILE)
    assert back.leg == now.leg_of(WaveVerb.RECONCILE, PLAIN).number == 1
    assert told(back)[2:] == ["resume link: move-orders-back", "run link: move-orders-back"]
    runs.append(done(back))
    assert made(wave, runs, WaveVerb.SWITCH).part is Part.CONSUMERS


@pytest.mark.parametrize("first", End)
def test_a_reconcile_makes_up_for_both_clusters_that_were_lost_one_after_the_other(first: End) -> None:
    """The source has its fence still, and the link to the target is paused: in whichever order they were lost."""
    runs = [done(made(FENCED, [], WaveVerb.START))]
    died = [
        lost_at(FENCED, runs, WaveVerb.SWITCH, StepKind.VERIFY_END, End.SOURCE),
        lost_at(FENCED, runs, WaveVerb.SWITCH, StepKind.VERIFY_END, End.TARGET),
    ]
    runs += died if first is End.SOURCE else died[::-1]
    now = stands(FENCED, runs)
    assert now.gone is not first and now.is_halted
    back = made(FENCED, runs, WaveVerb.RECONCILE)
    assert told(back)[2:] == [FENCE, "resume link: move-orders", "run link: move-orders"]
    after = stands(FENCED, [*runs, done(back)])
    assert (after.gone, after.left, after.is_halted) == (None, None, False)


def test_a_wave_whose_link_stands_still_is_not_switched_and_says_why() -> None:
    """It would wait for copies that nobody makes, for good."""
    runs = [done(made(FENCED, [], WaveVerb.START))]
    runs.append(lost_at(FENCED, runs, WaveVerb.SWITCH, StepKind.VERIFY_END, End.TARGET))
    with pytest.raises(WaveStateError, match="link move-orders may stand still since new was lost"):
        steps_for(stands(FENCED, runs), WaveVerb.SWITCH)
    assert made(FENCED, runs, WaveVerb.SWITCH, LOST).leg == 0, "without the source nothing more has to be copied"
    runs.append(done(made(FENCED, runs, WaveVerb.RECONCILE)))
    made(FENCED, runs, WaveVerb.SWITCH)


def test_a_wave_halfway_is_led_away_also_where_the_other_cluster_was_lost_meanwhile() -> None:
    """What was lost last is not what it was being led to."""
    runs = switched(FENCED)
    runs.append(lost_at(FENCED, runs, WaveVerb.REVERSE, StepKind.RUN_REVERSE, End.SOURCE))
    away = lost_meanwhile(begun(made(FENCED, runs, WaveVerb.SWITCH, LOST)), WHY, End.TARGET)
    runs.append(ended(away, FENCED, lambda _: None))
    now = stands(FENCED, runs)
    assert (now.gone, now.halfway_to, now.is_halfway) == (End.TARGET, End.SOURCE, True)
    with pytest.raises(WaveStateError, match="old was lost while it was being led there") as error:
        steps_for(now, WaveVerb.REVERSE, LOST)
    assert "switch move --wave orders --source-lost" in error.value.hint
    assert made(FENCED, runs, WaveVerb.SWITCH, LOST).leg == 2


def test_what_goes_on_without_one_cluster_does_not_end_without_the_other_one() -> None:
    """Nobody could be led anywhere from there; before the point of no return it is taken back."""
    runs = switched(FENCED)[:1]
    for point in at_each_point(made(FENCED, runs, WaveVerb.SWITCH, LOST)):
        assert point.can_be_left(End.SOURCE)
        assert point.can_be_left(End.TARGET) is not point.has_passed
    assert at(made(FENCED, runs, WaveVerb.SWITCH), StepKind.RUN_REVERSE).can_be_left(End.TARGET)


def test_a_reconcile_whose_way_back_may_copy_is_not_taken_back() -> None:
    """Else that would bring records to the source which the next one took for its own, and appended a second time."""
    runs = switched(FENCED)[:1]
    runs.append(done(made(FENCED, runs, WaveVerb.SWITCH, LOST)))
    found = at(made(FENCED, runs, WaveVerb.RECONCILE), StepKind.RUN_REVERSE)
    assert lost_meanwhile(replace(found, is_begun=False), WHY).can_turn
    with pytest.raises(PassedError):
        turned(lost_meanwhile(found, WHY), 1, WHY)
    over = ended(lost_meanwhile(found, WHY), FENCED, lambda _: None)
    assert over.state is WaveRunState.DONE and over.results["run reverse link: move-orders-back"] == LEFT_OUT
    now = stands(FENCED, [*runs, over])
    assert (now.lost, now.gone, now.is_halted) == (None, End.SOURCE, True)
    assert told(made(FENCED, [*runs, over], WaveVerb.RECONCILE))[2:] == [
        "resume link: move-orders-back",
        "run link: move-orders-back",
    ]


def test_a_reconcile_ends_what_copied_both_ways_before_it_pins() -> None:
    """Of one that appended, and was ended without the target, the link runs on there."""
    runs = [*switched(FENCED), done(made(FENCED, switched(FENCED), WaveVerb.REVERSE))]
    runs.append(done(made(FENCED, runs, WaveVerb.SWITCH, LOST)))
    assert told(made(FENCED, runs, WaveVerb.RECONCILE))[1:3] == [
        "stop link: move-orders-back",
        "stop link: move-orders-2",
    ]


def test_a_wave_that_is_completed_leaves_no_fence_where_its_applications_are() -> None:
    """A reverse had denied writing there, and was ended without the target, which is back."""
    runs = switched(FENCED)
    runs.append(lost_at(FENCED, runs, WaveVerb.REVERSE, StepKind.VERIFY_END, End.TARGET))
    over = made(FENCED, runs, WaveVerb.COMPLETE)
    assert told(over)[-1] == FENCE
    key = "fence producers: acl"
    left = inherited(stands(FENCED, runs).leg, WaveVerb.RECONCILE, runs)
    assert key in left and left == inherited(stands(FENCED, runs).leg, WaveVerb.COMPLETE, runs)
    runs.append(lost_at(FENCED, runs, WaveVerb.VERIFY, StepKind.VERIFY, End.SOURCE))
    assert told(made(FENCED, runs, WaveVerb.COMPLETE))[-1] == FENCE, "and without the source"


def test_consumers_that_are_led_again_leave_the_fence_of_their_producers_to_a_reconcile() -> None:
    """It is where those are, whichever cluster is lost since."""
    wave = replace(FENCED, order=WaveOrder.CONSUMERS_FIRST)
    runs = [done(made(wave, [], WaveVerb.START))]
    runs.append(done(made(wave, runs, WaveVerb.SWITCH)))
    runs.append(lost_at(wave, runs, WaveVerb.SWITCH, StepKind.VERIFY_END, End.SOURCE))
    runs.append(done(made(wave, runs, WaveVerb.REVERSE, LOST)))
    now = stands(wave, runs)
    assert (now.switched, now.gone, now.is_halted) == ((), End.TARGET, True)
    assert told(made(wave, runs, WaveVerb.RECONCILE))[2:] == [
        FENCE,
        "resume link: move-orders",
        "run link: move-orders",
    ]


def test_of_two_runs_that_left_something_behind_the_one_that_left_more_is_put_back() -> None:
    """A way back that the first one stored is there still."""
    runs = [done(made(FENCED, [], WaveVerb.START))]
    for kind in (StepKind.JOURNAL, StepKind.QUIET):
        runs.append(lost_at(FENCED, runs, WaveVerb.SWITCH, kind, End.SOURCE))
    assert told(made(FENCED, runs, WaveVerb.RECONCILE))[2:] == [
        "put back what was left: prepare reverse link: move-orders-back",
        FENCE,
    ]


@given(waves)
def test_a_run_begins_with_what_is_told_for_the_leg_that_its_steps_are_of(wave: Wave) -> None:
    """Whichever verb, also behind a loss: completing it, or giving it up, is of the leg where it stays."""
    runs = [done(made(wave, [], WaveVerb.START))]
    lost = [*runs, done(made(wave, runs, WaveVerb.SWITCH, LOST))]
    back = [*switched(wave), done(made(wave, switched(wave), WaveVerb.REVERSE, LOST))]
    for some, verb in ((lost, WaveVerb.COMPLETE), (lost, WaveVerb.RECONCILE), (back, WaveVerb.CANCEL)):
        assert made(wave, some, verb).leg == stands(wave, some).leg_of(verb, PLAIN).number
