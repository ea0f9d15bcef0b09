"""The source is lost while a wave is led back there: at each point there is a way out, and what it asks is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.ends import End
from anabranch.migration.inherited import ANSWERS, inherited
from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.left_out import LEADS_FROM, LEFT_OUT, is_left_out, left_out_words
from anabranch.migration.legs import Leg
from anabranch.migration.lost import LostState, loses_tail
from anabranch.migration.lost_steps import told_by
from anabranch.migration.options import PLAIN, UnknownGroups, WaveOptions
from anabranch.migration.run import (
    NextMove,
    PassedError,
    WaveRun,
    WaveRunState,
    begun,
    decide,
    finished,
    key_of,
    lost_meanwhile,
    postponed,
    put_back,
    turned,
)
from anabranch.migration.spec import FenceKind, Hooks, JobKind, Migration, StreamJob, Wave, WaveOrder
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb, standing
from anabranch.migration.steps import Part, StepKind, parts
from anabranch.migration.wave_steps import WaveStateError, steps_for

pytestmark = pytest.mark.unit

LOST = WaveOptions(lost=UnknownGroups.EARLIEST)
WHY = "mei: old is gone"
JOB = StreamJob("sums", JobKind.SPARK, "/cp")
waves = st.builds(
    Wave,
    st.just("orders"),
    st.just(("orders",)),
    st.just(("shop",)),
    st.sampled_from([(), (JOB,)]),
    codes=st.sampled_from([(), ("orders",)]),
    order=st.sampled_from(WaveOrder),
    fences=st.sets(st.sampled_from(FenceKind), min_size=1).map(lambda some: tuple(sorted(some))),
    hooks=st.sampled_from([Hooks(), Hooks("stop", "go")]),
)
ASKS_BOTH = {StepKind.PREFLIGHT, StepKind.DRAIN, StepKind.STAGE_GROUPS, StepKind.VERIFY_END, StepKind.PUBLISH_GROUPS}
"""Steps of a way back that nobody can do, or go on with, without the source."""


def migration(wave: Wave) -> Migration:
    """Of this wave alone."""
    return Migration("move", "old", "new", (wave,))


def stands(wave: Wave, runs: list[WaveRun]) -> WaveStanding:
    """Where it stands."""
    return standing(migration(wave), wave, runs)


def made(wave: Wave, runs: list[WaveRun], verb: WaveVerb, asked: WaveOptions = PLAIN) -> WaveRun:
    """A run of a verb as it begins."""
    found = steps_for(stands(wave, runs), verb, asked)
    return WaveRun("r", "move", wave.name, verb.value, found.steps, 0, part=found.part, leg=found.leg.number)


def done(run: WaveRun) -> WaveRun:
    """It went well."""
    while run.state.is_open:
        run = finished(begun(run), 1)
    return run


def switched(wave: Wave) -> list[WaveRun]:
    """All that was done until it is on the target."""
    runs: list[WaveRun] = [done(made(wave, [], WaveVerb.START))]
    for _ in parts(wave):
        runs.append(done(made(wave, runs, WaveVerb.SWITCH)))
    return runs


def ended(run: WaveRun, wave: Wave, asked: Callable[[WaveRun], None]) -> WaveRun:
    """A run whose source is gone, gone on with to its end; ``asked`` hears of each step that asks a cluster."""
    leg = Leg(migration(wave), wave, run.leg)
    for _ in range(4 * len(run.steps)):
        move, why = decide(run, 1)
        if move is NextMove.NOTHING:
            return run
        step = run.step
        if move is NextMove.TURN:
            run = turned(run, 1, why)
            continue
        assert step is not None
        left = is_left_out(leg, step, run.lost_end)
        if not left:
            asked(run)
        if move is NextMove.DO:
            run = finished(begun(run), 1, LEFT_OUT if left else None)
        else:
            run = put_back(run, 1)
    raise AssertionError("it does not end")


def at_each_point(run: WaveRun) -> list[WaveRun]:
    """A run before each of its steps and within it."""
    found = []
    while run.state.is_open:
        found += [run, begun(run)]
        run = finished(begun(run), 1)
    return found


@given(waves)
def test_the_source_dies_at_each_point_of_the_way_back_and_the_wave_is_on_the_target_again(wave: Wave) -> None:
    """Nobody was let go there: all is as before.  Somebody may have been: a switch without it leads them from there."""
    runs = switched(wave)
    for _ in parts(wave):
        for point in at_each_point(made(wave, runs, WaveVerb.REVERSE)):
            assert_way_out(wave, runs, point)
        runs.append(done(made(wave, runs, WaveVerb.REVERSE)))
    assert stands(wave, runs).state is WaveState.COPYING


def assert_way_out(wave: Wave, runs: list[WaveRun], point: WaveRun) -> None:
    """At one of its points."""
    before = stands(wave, [*runs, point])
    with pytest.raises(WaveStateError, match="reverse is under way") as error:
        steps_for(before, WaveVerb.SWITCH, LOST)
    assert "`anabranch migrate cancel move --wave orders --reason WHY --source-lost`" in error.value.hint

    def asked(run: WaveRun) -> None:
        assert run.step is not None
        assert run.state is WaveRunState.TURNED or run.step.kind not in ASKS_BOTH

    over = ended(lost_meanwhile(point, WHY), wave, asked)
    assert run_of(run_fields(over)) == over
    is_home = not point.has_let_go
    assert over.state is (WaveRunState.CANCELLED if is_home else WaveRunState.DONE)
    after = stands(wave, [*runs, over])
    assert after.is_gone and after.open is None
    leg = Leg(migration(wave), wave, over.leg)
    told = left_out_words(leg, over)
    assert any("migrate switch move --wave orders --source-lost" in one for one in told) is not is_home
    assert after.is_halfway is not is_home
    if not is_home:
        assert_led_away_first(after, WaveVerb.SWITCH)
    if is_home:
        assert (after.leg, after.switched, after.state) == (before.leg, before.switched, before.state)
    if after.leg.leads_back and not after.switched:
        return assert_regained(wave, [*runs, over])
    if after.leg.leads_back and after.switched[0] is Part.CONSUMERS and wave.jobs:
        with pytest.raises(WaveStateError, match="told by the offset map of move-orders-back alone"):
            steps_for(after, WaveVerb.SWITCH, LOST)
        return None
    led = made(wave, [*runs, over], WaveVerb.SWITCH, LOST)
    told_before = inherited(leg.at(led.leg), WaveVerb.SWITCH, [*runs, over])
    assert told_before.get(key_of(StepKind.PROVE_LOST, wave.name)) == (None if is_home else {ANSWERS: True})
    assert led.leg == 2 and not {step.kind for step in led.steps} & {StepKind.PREFLIGHT, StepKind.DRAIN, StepKind.PIN}
    home = stands(wave, [*runs, over, done(led)])
    assert home.state is WaveState.SWITCHED and home.is_gone and not home.switched and not home.is_halfway
    if loses_tail(led):
        assert home.leg.number == 3 and home.lost is not None and home.lost.state is LostState.GONE
        return None
    assert home.leg.number == 1 and home.lost is None
    return assert_regained(wave, [*runs, over, done(led)])


def assert_led_away_first(after: WaveStanding, leads_away: WaveVerb) -> None:
    """Whatever else is asked for would rest on what was left out, and says by which command it is led away (L4)."""
    flag = LEADS_FROM[End.SOURCE if leads_away is WaveVerb.SWITCH else End.TARGET][1]
    for verb, asked in itertools.product(WaveVerb, (PLAIN, LOST)):
        if verb is WaveVerb.START or (verb, asked) == (leads_away, LOST):
            continue
        with pytest.raises(WaveStateError, match="was lost while it was being led there") as error:
            steps_for(after, verb, asked)
        assert error.value.hint.endswith(f"`anabranch migrate {leads_away.value} move --wave orders {flag}`")


def assert_regained(wave: Wave, runs: list[WaveRun]) -> None:
    """All is on the target, and nothing was lost: it may be completed without the source, or has it keep up again."""
    kinds = {step.kind for step in made(wave, runs, WaveVerb.COMPLETE).steps}
    assert kinds == {StepKind.JOURNAL, StepKind.STOP_LINK, StepKind.DELETE_LINK}
    back = made(wave, runs, WaveVerb.RECONCILE)
    assert [step.subject for step in back.steps if step.kind is StepKind.RUN_LINK] == ["move-orders-back"]
    assert not stands(wave, [*runs, done(back)]).is_gone


@given(waves)
def test_the_source_dies_while_it_is_left_and_the_wave_goes_on(wave: Wave) -> None:
    """Before the point of no return it is taken back; after it all but the way back is done."""
    runs = [done(made(wave, [], WaveVerb.START))]
    for _ in parts(wave):
        for point in at_each_point(made(wave, runs, WaveVerb.SWITCH)):
            over = ended(lost_meanwhile(point, WHY), wave, lambda _: None)
            assert over.state is (WaveRunState.DONE if point.has_passed else WaveRunState.CANCELLED)
            left = {step.kind for step in over.steps if over.result(step.kind, step.subject) == LEFT_OUT}
            assert left <= {StepKind.RUN_REVERSE}
            after = stands(wave, [*runs, over])
            assert after.is_gone
            if after.leg.leads_back:
                assert_regained(wave, [*runs, over])
            else:
                steps_for(after, WaveVerb.SWITCH, LOST)
        runs.append(done(made(wave, runs, WaveVerb.SWITCH)))


def test_what_is_left_out_is_named_with_what_is_to_be_done() -> None:
    """So that whoever finds the source again knows what is still there."""
    wave = Wave("orders", ("orders",), ("shop",), fences=(FenceKind.ACL,))
    runs = switched(wave)
    leg = Leg(migration(wave), wave, 1)
    points = at_each_point(made(wave, runs, WaveVerb.REVERSE))
    home = next(one for one in points if one.step is not None and one.step.kind is StepKind.PUBLISH_GROUPS)
    assert left_out_words(leg, ended(lost_meanwhile(home, WHY), wave, lambda _: None)) == (
        "not put back on old: pause link move-orders-back, so that nothing but applications writes to old",
        "once old answers `anabranch migrate reconcile move --wave orders` puts it back",
    )
    there = ended(lost_meanwhile(points[-1], WHY), wave, lambda _: None)
    assert left_out_words(leg, there) == (
        "left out, for old is gone: end the run of link move-orders-back",
        "its applications belong on old: `anabranch migrate switch move --wave orders --source-lost` leads them from "
        "there",
    )
    assert left_out_words(leg, replace(there, lost="")) == ()


def test_without_a_word_of_a_person_nothing_turns_behind_the_point_of_no_return() -> None:
    """M6: and with one only where nobody was let go."""
    wave = Wave("orders", ("orders",), ("shop",), codes=("orders",), fences=(FenceKind.ROUTES,))
    points = at_each_point(made(wave, switched(wave), WaveVerb.REVERSE))
    passed = [one for one in points if one.has_passed]
    assert len({one.has_let_go for one in passed}) == 2
    for one in passed:
        with pytest.raises(PassedError, match="has passed the point of no return"):
            turned(one, 1, "no")
        assert decide(one, 1)[0] is NextMove.DO
        assert (decide(lost_meanwhile(one, WHY), 1) == (NextMove.TURN, WHY)) is not one.has_let_go
    assert lost_meanwhile(lost_meanwhile(points[0], WHY), "again").lost == WHY
    over = done(points[-1])
    assert lost_meanwhile(over, WHY) == over


def test_a_part_that_is_led_again_knows_the_fence_that_it_left_and_who_translates() -> None:
    """Producers find what their fence denied on the target lifted; consumers are told by the link before."""
    wave = Wave("orders", ("orders",), ("shop",), order=WaveOrder.PRODUCERS_FIRST, fences=(FenceKind.ACL,))
    runs = switched(wave)
    went = replace(done(made(wave, runs, WaveVerb.REVERSE)), results={"fence producers: acl": {"made": ["rule"]}})
    now = stands(wave, [*runs, went])
    found = inherited(now.leg_of(WaveVerb.SWITCH, LOST), WaveVerb.SWITCH, [*runs, went])
    assert found == {"lift fence: orders": {"denied": [], "made": ["rule"]}}
    assert now.leg_of(WaveVerb.SWITCH, PLAIN) == now.leg_of(WaveVerb.REVERSE, PLAIN) == now.leg
    leg = Leg(migration(wave), wave, 2)
    assert told_by(leg, Part.PRODUCERS) == told_by(leg, Part.CONSUMERS) == leg
    first = replace(wave, order=WaveOrder.CONSUMERS_FIRST)
    leg = Leg(migration(first), first, 2)
    assert (told_by(leg, Part.CONSUMERS).number, told_by(leg, Part.ALL).number) == (0, 2)


def test_who_is_held_up_does_not_wait_for_a_link_that_cannot_be_put_back() -> None:
    """The fence is lifted first; the run ends once the link is put back, too (M7)."""
    wave = Wave("orders", ("orders",), ("shop",), (JOB,), fences=(FenceKind.ACL, FenceKind.HOOK))
    points = at_each_point(made(wave, switched(wave), WaveVerb.REVERSE))
    run = turned(next(one for one in points if one.steps[one.at].kind is StepKind.JOURNAL), 1, "no")
    order, cannot = [], {StepKind.PAUSE_LINK, StepKind.STAGE_CHECKPOINTS}
    while run.state.is_open:
        assert run.step is not None
        if run.may_wait:
            assert run.step.kind in cannot
            run = postponed(run)
            continue
        order.append(run.step.kind)
        run = put_back(run, 1)
    assert order[-2:] == [StepKind.PAUSE_LINK, StepKind.STAGE_CHECKPOINTS]
    assert sorted(order) == sorted(step.kind for step in run.steps[: len(order)])
    assert order.index(StepKind.FENCE) < order.index(StepKind.PAUSE_LINK)
    assert (run.state, run.owed) == (WaveRunState.CANCELLED, ())
