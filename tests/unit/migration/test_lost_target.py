"""The target is lost behind a switch, or as one goes on: at each point there is a way to the source again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.ends import End
from anabranch.migration.inherited import inherited
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.left_out import is_left_out, left_out_words
from anabranch.migration.legs import Leg
from anabranch.migration.lost import LostState, loses_tail, never_ran
from anabranch.migration.lost_steps import told_by
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState, begun, lost_meanwhile, put_back, turned
from anabranch.migration.spec import FenceKind, JobKind, StreamJob, Wave, WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.steps import Part, StepKind, parts
from anabranch.migration.wave_steps import WaveStateError, steps_for
from tests.unit.migration.test_lost import ASKS_LEFT
from tests.unit.migration.test_lost_way_back import (
    assert_led_away_first,
    at_each_point,
    done,
    ended,
    made,
    migration,
    stands,
    switched,
    waves,
)

pytestmark = pytest.mark.unit

LOST = WaveOptions(lost=UnknownGroups.EARLIEST)
WHY = "mei: new is gone"
WAVE = Wave("orders", ("orders",), ("shop",))


@given(waves, st.booleans())
def test_a_wave_is_led_back_without_its_target_and_reconciled_when_it_is_back(wave: Wave, has_tail: bool) -> None:
    """Nothing is asked of the target; there is no way there until a reconcile has made it (L3)."""
    runs = switched(wave)
    back = made(wave, runs, WaveVerb.REVERSE, LOST)
    kinds = [step.kind for step in back.steps]
    assert (back.leg, back.part) == (1, Part.ALL) and back.goes_without and loses_tail(back)
    assert kinds[0] is StepKind.PROVE_LOST and kinds.count(StepKind.JOURNAL) == 1 and not set(kinds) & ASKS_LEFT
    assert {step.subject for step in back.steps if step.kind is StepKind.FENCE} <= {FenceKind.ROUTES, FenceKind.HOOK}
    assert (StepKind.LIFT_FENCE in kinds[kinds.index(StepKind.JOURNAL) :]) is (FenceKind.ACL in wave.fences)
    assert {step.subject for step in back.steps if step.kind is StepKind.PAUSE_LINK} == {"move-orders-back"}
    runs.append(done(back))
    home = stands(wave, runs)
    assert (home.state, home.leg.number, home.leg.here, home.gone) == (WaveState.COPYING, 2, "old", End.TARGET)
    assert home.lost is not None and (home.lost.state, home.lost.words) == (LostState.GONE, "target lost")
    for verb in (WaveVerb.SWITCH, WaveVerb.REVERSE, WaveVerb.VERIFY, WaveVerb.COMPLETE, WaveVerb.START):
        with pytest.raises(WaveStateError):
            steps_for(home, verb)
    if has_tail:
        runs.append(done(made(wave, runs, WaveVerb.RECONCILE, WaveOptions(tail=TailChoice.APPEND))))
        kept = stands(wave, runs).lost
        assert kept is not None and (kept.end, kept.state) == (End.TARGET, LostState.APPENDED)
    found = made(wave, runs, WaveVerb.RECONCILE)
    assert found.leg == 1 and [step.subject for step in found.steps if step.kind is StepKind.RUN_REVERSE] == [
        "move-orders-2"
    ]
    runs.append(done(found))
    again = stands(wave, runs)
    assert (again.lost, again.gone, again.leg.number) == (None, None, 2)
    for _ in parts(wave):
        runs.append(done(made(wave, runs, WaveVerb.SWITCH)))
    assert stands(wave, runs).state is WaveState.SWITCHED


@given(waves)
def test_a_wave_stays_on_the_source_where_its_target_never_comes_back(wave: Wave) -> None:
    """A cancel asks nothing of it; what is stored there is named, and no topic of it can be deleted now."""
    runs = switched(wave)
    runs.append(done(made(wave, runs, WaveVerb.REVERSE, LOST)))
    with pytest.raises(WaveStateError, match="nothing is asked of new, which was lost") as error:
        steps_for(stands(wave, runs), WaveVerb.CANCEL, WaveOptions(purge=True))
    assert "without --purge now" in error.value.hint
    over = made(wave, runs, WaveVerb.CANCEL)
    assert [(step.kind, step.subject) for step in over.steps[1:]] == [
        (StepKind.STOP_LINK, "move-orders-back"),
        (StepKind.DELETE_LINK, "move-orders-back"),
    ]
    assert over.steps[0].text == (
        "write down that old is where it stays: there is no way back from here; move-orders: stored on new, where it "
        "stays"
    )
    runs.append(done(over))
    assert stands(wave, runs).state is WaveState.PLANNED


@given(waves)
def test_the_target_dies_at_each_point_of_a_switch_and_nobody_is_stuck(wave: Wave) -> None:
    """Nobody was let go there: all is on the source.  Somebody may have been: a reverse without it leads them back."""
    runs = [done(made(wave, [], WaveVerb.START))]
    for _ in parts(wave):
        for point in at_each_point(made(wave, runs, WaveVerb.SWITCH)):
            assert_way_out(wave, runs, point)
        runs.append(done(made(wave, runs, WaveVerb.SWITCH)))
    assert stands(wave, runs).state is WaveState.SWITCHED


def assert_way_out(wave: Wave, runs: list[WaveRun], point: WaveRun) -> None:
    """At one point of a switch; consumers that went ahead and jobs alone need a person."""
    before = stands(wave, [*runs, point])
    leg = Leg(migration(wave), wave, point.leg)

    def asked(run: WaveRun) -> None:
        assert run.step is not None and not is_left_out(leg, run.step, End.TARGET)

    over = ended(lost_meanwhile(point, WHY, End.TARGET), wave, asked)
    is_home = not point.has_let_go
    assert over.state is (WaveRunState.CANCELLED if is_home else WaveRunState.DONE)
    assert not over.leads_back and over.leads_to_lost
    after = stands(wave, [*runs, over])
    assert (after.gone, after.open) == (End.TARGET, None)
    told = left_out_words(leg, over)
    assert any("`anabranch migrate reverse move --wave orders --target-lost`" in one for one in told) is not is_home
    assert after.is_halfway is not is_home
    if not is_home:
        assert_led_away_first(after, WaveVerb.REVERSE)
    if is_home:
        assert (after.leg, after.switched, after.state) == (before.leg, before.switched, before.state)
    if not after.leg.leads_back and not after.switched:
        return assert_regained(wave, [*runs, over])
    if after.switched == (Part.CONSUMERS,) and wave.jobs:
        with pytest.raises(WaveStateError, match="is told by the offset map of move-orders alone") as error:
            steps_for(after, WaveVerb.REVERSE, LOST)
        assert "`anabranch migrate reverse move --wave orders --target-lost`" in error.value.hint
        return None
    led = made(wave, [*runs, over], WaveVerb.REVERSE, LOST)
    assert led.leg == 1 and not {step.kind for step in led.steps} & ASKS_LEFT
    home = stands(wave, [*runs, over, done(led)])
    assert (home.state, home.gone, home.switched) == (WaveState.COPYING, End.TARGET, ())
    if loses_tail(led):
        assert home.leg.number == 2 and home.lost is not None and home.lost.end is End.TARGET
        return None
    assert home.leg.number == 0 and home.lost is None
    return assert_regained(wave, [*runs, over, done(led)])


def assert_regained(wave: Wave, runs: list[WaveRun]) -> None:
    """All is on the source, and nothing was lost: it is cancelled without the target, or copied there again."""
    kinds = {step.kind for step in made(wave, runs, WaveVerb.CANCEL).steps}
    assert kinds == {StepKind.JOURNAL}
    back = made(wave, runs, WaveVerb.RECONCILE)
    assert [step.subject for step in back.steps if step.kind is StepKind.RUN_LINK] == ["move-orders"]
    assert not stands(wave, [*runs, done(back)]).is_gone


@given(waves)
def test_the_target_dies_at_each_point_of_a_reverse_and_the_wave_is_led_back_all_the_same(wave: Wave) -> None:
    """Before the point of no return it is taken back, and led back without; after it all but the way there is done."""
    runs = switched(wave)
    for _ in parts(wave):
        for point in at_each_point(made(wave, runs, WaveVerb.REVERSE)):
            over = ended(lost_meanwhile(point, WHY, End.TARGET), wave, lambda _: None)
            assert over.state is (WaveRunState.DONE if point.has_passed else WaveRunState.CANCELLED)
            after = stands(wave, [*runs, over])
            assert after.gone is End.TARGET
            if not after.leg.leads_back:
                assert made(wave, [*runs, over], WaveVerb.RECONCILE).leg == after.leg.number == 2
            else:
                led = made(wave, [*runs, over], WaveVerb.REVERSE, LOST)
                assert led.leg == 1 and led.goes_without
        runs.append(done(made(wave, runs, WaveVerb.REVERSE)))


def test_what_is_under_way_is_ended_first() -> None:
    """By the word that the target is gone, and not that the source is."""
    runs = switched(WAVE)
    runs.append(begun(made(WAVE, runs, WaveVerb.REVERSE)))
    with pytest.raises(WaveStateError, match="reverse is under way") as error:
        steps_for(stands(WAVE, runs), WaveVerb.REVERSE, LOST)
    assert "`anabranch migrate cancel move --wave orders --reason WHY --target-lost`" in error.value.hint


def test_a_cluster_that_is_lost_where_nobody_is_has_nobody_to_be_led() -> None:
    """The verb leads from the cluster where applications are, and says so."""
    runs = [done(made(WAVE, [], WaveVerb.START))]
    with pytest.raises(WaveStateError, match="on old, and new is what it would go without") as error:
        steps_for(stands(WAVE, runs), WaveVerb.REVERSE, LOST)
    assert "`anabranch migrate switch move --wave orders --source-lost`" in error.value.hint
    assert error.value.hint.endswith("; where new is, nobody has to be led anywhere")


def test_a_cluster_that_left_nothing_to_put_back_is_only_seen_to_answer() -> None:
    """It was gone before anything was done there: a reconcile says that it is back."""
    runs = [done(made(WAVE, [], WaveVerb.START))]
    over = ended(lost_meanwhile(made(WAVE, runs, WaveVerb.SWITCH), WHY), WAVE, lambda _: None)
    now = stands(WAVE, [*runs, over])
    assert (now.gone, now.left) == (End.SOURCE, None)
    back = made(WAVE, [*runs, over], WaveVerb.RECONCILE)
    assert [step.kind for step in back.steps] == [StepKind.PROVE_FOUND, StepKind.JOURNAL]
    assert stands(WAVE, [*runs, over, done(back)]).gone is None


def test_a_start_whose_target_dies_says_what_it_has_left_there() -> None:
    """Its link, and access rules; nothing of it can be put back by anybody but who finds that cluster again."""
    point = at_each_point(made(WAVE, [], WaveVerb.START))[-1]
    over = ended(lost_meanwhile(point, WHY, End.TARGET), WAVE, lambda _: None)
    told = left_out_words(Leg(migration(WAVE), WAVE), over)
    assert told == (
        "not put back on new: create link move-orders from old to new: 1 topic",
        "once new answers: `anabranch link delete move-orders --target new`, and delete topics and access rules "
        "that the start made there",
    )
    assert stands(WAVE, [over]).state is WaveState.PLANNED


def test_the_lines_of_the_way_back_tell_consumers_that_went_before_their_producers_nothing_the_first_time() -> None:
    """No link leads from the target to the source then; the second time the one of before knows."""
    first = replace(WAVE, order=WaveOrder.CONSUMERS_FIRST)
    legs = [Leg(migration(first), first, number) for number in (1, 3)]
    assert [told_by(leg, Part.CONSUMERS).number for leg in legs] == [1, 1]
    told = "link back has never run: nothing that applications wrote to new since they were led there is on old"
    assert never_ran("back", "new", "old") == told


# -- what was left on a cluster that is back -------------------------------------------------------------------

FENCED = Wave("orders", ("orders",), ("shop",), fences=(FenceKind.ACL,))
THEIRS, OURS = ["orders", "User:other"], ["orders", "User:shop"]


def left_on_source() -> tuple[list[WaveRun], WaveRun]:
    """A switch that is taken back without its source, once it had denied writing there."""
    runs = [done(made(FENCED, [], WaveVerb.START))]
    points = at_each_point(made(FENCED, runs, WaveVerb.SWITCH))
    at = next(one for one in points if one.step is not None and one.step.kind is StepKind.JOURNAL)
    noted = {"preflight: orders": {"denied": [THEIRS]}, "fence producers: acl": {"made": [OURS]}}
    return runs, ended(lost_meanwhile(replace(at, results=noted), WHY), FENCED, lambda _: None)


def test_a_fence_that_was_left_on_the_source_is_put_back_once_it_is_back() -> None:
    """What a cancel without it left there is named with the command, and a reconcile puts it back, and no other's."""
    runs, over = left_on_source()
    now = stands(FENCED, [*runs, over])
    assert (now.gone, now.left, now.leg.number) == (End.SOURCE, over, 0)
    told = left_out_words(now.leg, over)
    assert "not put back on old: deny writing to 1 topic on old" in told
    assert "once old answers `anabranch migrate reconcile move --wave orders` puts it back" in told
    back = made(FENCED, [*runs, over], WaveVerb.RECONCILE)
    assert [(step.kind.value, step.subject) for step in back.steps] == [
        ("prove that the cluster is back", "orders"),
        ("point of no return", "orders"),
        ("put back what was left", "prepare reverse link: move-orders-back"),
        ("put back what was left", "fence producers: acl"),
    ]
    leg = now.leg_of(WaveVerb.RECONCILE, PLAIN)
    found = inherited(leg, WaveVerb.RECONCILE, [*runs, over])
    assert found == {"fence producers: acl": {"before": [THEIRS], "made": [OURS]}}
    after = stands(FENCED, [*runs, over, done(back)])
    assert (after.gone, after.left, after.leg.number) == (None, None, 0)
    assert inherited(after.leg, WaveVerb.SWITCH, [*runs, over, done(back)]) == {}
    kinds = [step.kind for step in made(FENCED, [*runs, over], WaveVerb.CANCEL).steps]
    assert kinds[-2:] == [StepKind.PUT_BACK, StepKind.PUT_BACK]
    assert inherited(leg, WaveVerb.CANCEL, [*runs, over]) == found


def test_a_fence_that_was_left_is_not_taken_for_somebody_elses_by_whoever_denies_again() -> None:
    """A switch with the source that is back, and a reconcile after one without it, are told what was there before."""
    runs, over = left_on_source()
    told = {"fence producers: acl": {"before": [THEIRS], "made": [OURS]}}
    assert inherited(stands(FENCED, [*runs, over]).leg, WaveVerb.SWITCH, [*runs, over]) == told
    runs = [*runs, over]
    runs.append(done(made(FENCED, runs, WaveVerb.SWITCH, LOST)))
    leg = stands(FENCED, runs).leg_of(WaveVerb.RECONCILE, PLAIN)
    assert leg.number == 0 and inherited(leg, WaveVerb.RECONCILE, runs) == told
    found = replace(
        done(made(FENCED, runs, WaveVerb.RECONCILE)),
        results={
            "prove that the cluster is back: orders": {"denied": [THEIRS]},
            "fence producers: acl": {"made": [OURS]},
        },
    )
    runs.append(found)
    denied = inherited(stands(FENCED, runs).leg, WaveVerb.REVERSE, runs)
    assert denied == {"lift fence: orders": {"denied": [THEIRS], "made": [OURS]}}


def test_a_fence_that_died_while_it_denied_does_not_say_what_it_has_made() -> None:
    """Whoever lifts it looks for that; also where another one of ours was there before it, and had said."""
    runs, over = left_on_source()
    for before in (runs, [*runs, over]):
        point = next(
            one
            for one in at_each_point(made(FENCED, before, WaveVerb.SWITCH))
            if one.is_begun and one.step is not None and one.step.kind is StepKind.FENCE
        )
        noted = {"preflight: orders": {"denied": [THEIRS]}, "fence producers: acl": {"before": [], "made": [OURS]}}
        again = ended(lost_meanwhile(replace(point, results=noted), WHY), FENCED, lambda _: None)
        left = inherited(Leg(migration(FENCED), FENCED), WaveVerb.RECONCILE, [*before, again])
        assert left == {"fence producers: acl": {"before": [THEIRS]}}


def test_a_switch_that_is_taken_back_lifts_the_fence_that_was_left_only_where_it_had_denied_itself() -> None:
    """One that a person cancels before that leaves it: a reconcile is told of it still, whatever the fences are now."""
    runs, over = left_on_source()
    again = made(FENCED, [*runs, over], WaveVerb.SWITCH)
    at = [step.kind for step in again.steps].index(StepKind.FENCE)
    told = {"fence producers: acl": {"before": [THEIRS], "made": [OURS]}}
    for number, left in ((at, told), (at + 1, {})):
        run = next(one for one in at_each_point(again) if one.at == number and not one.is_begun)
        run = turned(run, 1, "no")
        while run.state.is_open:
            run = put_back(run, 1)
        for wave in (FENCED, replace(FENCED, fences=(FenceKind.OBSERVE,))):
            leg = Leg(migration(wave), wave)
            assert inherited(leg, WaveVerb.RECONCILE, [*runs, over, run]) == left


def test_a_fence_whose_lifting_was_left_out_is_known_to_the_next_one() -> None:
    """A way back whose source died behind it: the wave was led away, and the source is back."""
    runs = switched(FENCED)
    runs[-1] = replace(
        runs[-1], results={"preflight: orders": {"denied": []}, "fence producers: acl": {"made": [OURS]}}
    )
    last = at_each_point(made(FENCED, runs, WaveVerb.REVERSE))[-1]
    runs.append(ended(lost_meanwhile(last, WHY), FENCED, lambda _: None))
    assert inherited(Leg(migration(FENCED), FENCED, 2), WaveVerb.RECONCILE, runs) == {}, "it was lifted"
    runs[-1] = replace(runs[-1], results={"lift fence: orders": {"left out": True}})
    found = inherited(Leg(migration(FENCED), FENCED, 2), WaveVerb.RECONCILE, runs)
    assert found == {"fence producers: acl": {"before": [], "made": [OURS]}}


def test_a_job_has_its_own_way_out_where_nothing_tells_where_it_would_go_on() -> None:
    """It says what to do, by the verb that leads from the target."""
    wave = replace(WAVE, jobs=(StreamJob("sums", JobKind.SPARK, "/cp"),), order=WaveOrder.CONSUMERS_FIRST)
    runs = [done(made(wave, [], WaveVerb.START))]
    runs.append(done(made(wave, runs, WaveVerb.SWITCH)))
    with pytest.raises(WaveStateError, match="cannot reverse: where job sums would go on") as error:
        steps_for(stands(wave, runs), WaveVerb.REVERSE, LOST)
    assert "checkpoint undo" in error.value.hint


def test_a_journal_of_when_only_a_source_could_be_lost_is_read() -> None:
    """Its steps, and what they wrote down, are found by the words of now."""
    run = done(made(WAVE, switched(WAVE), WaveVerb.REVERSE, LOST))
    fields = run_fields(replace(run, results={"find groups without the cluster: earliest": {"groups": {}}}))
    former = {"lost_end": None, "results": {"find groups without the source: earliest": {"groups": {}}}}
    steps = [[kind.replace("the cluster", "the source"), *rest] for kind, *rest in fields["steps"]]
    kept = {name: value for name, value in {**fields, **former, "steps": steps}.items() if name != "lost_end"}
    assert kept["steps"] != fields["steps"] and run_of(kept) == run_of(fields)
