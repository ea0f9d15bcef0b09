"""Where a wave stands, what can be asked for there, and for how long its applications were held up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.ends import End
from anabranch.migration.legs import Leg
from anabranch.migration.pause import HeldUp, pause_of
from anabranch.migration.run import WaveRun, WaveRunState, begun, finished, put_back, turned
from anabranch.migration.spec import FenceKind, Hooks, Migration, Wave, WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb, standing
from anabranch.migration.steps import Part, StepKind
from anabranch.migration.wave_steps import WaveStateError, steps_for

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",))
ORDERS = st.sampled_from(WaveOrder)


def migration(wave: Wave = WAVE) -> Migration:
    """Of this wave alone."""
    return Migration("move", "old", "new", (wave,))


def ended(verb: WaveVerb, runs: list[WaveRun], wave: Wave = WAVE, state: WaveRunState = WaveRunState.DONE) -> WaveRun:
    """A run of a verb where the wave stands, which ended so."""
    found = steps_for(standing(migration(wave), wave, runs), verb)
    made = WaveRun("r", "move", wave.name, verb.value, found.steps, 0, part=found.part, leg=found.leg.number)
    return replace(made, state=state)


@given(ORDERS, st.lists(st.sampled_from([WaveVerb.VERIFY, WaveVerb.SWITCH, WaveVerb.REVERSE]), max_size=12))
def test_a_wave_is_where_its_runs_have_brought_it(order: WaveOrder, verbs: list[WaveVerb]) -> None:
    """M9: there and back as often as one likes; what does not fit is refused, and changes nothing."""
    wave = replace(WAVE, order=order)
    runs = [ended(WaveVerb.START, [], wave)]
    switched, leg = 0, 0
    halves = 1 if order is WaveOrder.TOGETHER else 2
    for verb in verbs:
        stands = standing(migration(wave), wave, runs)
        assert (stands.leg.number, len(stands.switched)) == (leg, switched)
        if verb is (WaveVerb.REVERSE if leg % 2 == 0 else WaveVerb.SWITCH):
            with pytest.raises(WaveStateError):
                steps_for(stands, verb)
            continue
        runs.append(ended(verb, runs, wave))
        if verb is not WaveVerb.VERIFY:
            switched += 1
            leg, switched = (leg + 1, 0) if switched == halves else (leg, switched)
    found = standing(migration(wave), wave, runs)
    assert found.leg == Leg(migration(wave), wave, leg)
    expected = WaveState.SWITCHED if leg % 2 else WaveState.COPYING
    assert found.state is (WaveState.PARTLY if switched else expected)


def test_what_was_taken_back_or_is_under_way_counts_for_nothing() -> None:
    """Only what ended well has brought a wave anywhere."""
    runs = [ended(WaveVerb.START, [])]
    runs.append(ended(WaveVerb.SWITCH, runs, state=WaveRunState.CANCELLED))
    runs.append(ended(WaveVerb.SWITCH, runs, state=WaveRunState.GOING))
    stands = standing(migration(), WAVE, runs)
    assert (stands.state, stands.leg.number, stands.open) == (WaveState.COPYING, 0, runs[-1])


def test_a_start_that_ends_well_says_that_both_clusters_are_there() -> None:
    """Also one behind another that was given up since the target was gone: a cancel has it then."""
    left = ended(WaveVerb.START, [])
    runs = [replace(left, state=WaveRunState.CANCELLED, lost="mei: new is gone", lost_end=End.TARGET)]
    assert standing(migration(), WAVE, runs).gone is End.TARGET
    runs.append(ended(WaveVerb.START, runs))
    stands = standing(migration(), WAVE, runs)
    assert (stands.state, stands.gone, stands.left) == (WaveState.COPYING, None, None)


def refusal(verb: WaveVerb, runs: list[WaveRun], wave: Wave = WAVE) -> str:
    """Why a verb is refused."""
    with pytest.raises(WaveStateError) as error:
        steps_for(standing(migration(wave), wave, runs), verb)
    return error.value.message.partition(" cannot ")[2]


def test_what_does_not_fit_says_why_and_what_does() -> None:
    """From not started to completed."""
    assert refusal(WaveVerb.SWITCH, []) == "switch: it is not started"
    assert refusal(WaveVerb.CANCEL, []) == "cancel: it is not started"
    runs = [ended(WaveVerb.START, [])]
    assert refusal(WaveVerb.START, runs) == "start: it is copying already"
    assert refusal(WaveVerb.REVERSE, runs) == "reverse: its applications are on old"
    assert refusal(WaveVerb.COMPLETE, runs) == "complete: its applications are on old"
    runs.append(ended(WaveVerb.SWITCH, runs))
    assert refusal(WaveVerb.SWITCH, runs) == "switch: its applications are on new already"
    assert refusal(WaveVerb.CANCEL, runs) == "cancel: its applications are on new"
    completed = [*runs, ended(WaveVerb.COMPLETE, runs)]
    for verb in WaveVerb:
        assert refusal(verb, completed) == f"{verb.value}: it is completed, and its links are gone"
    cancelled = [*runs, ended(WaveVerb.REVERSE, runs)]
    cancelled.append(ended(WaveVerb.CANCEL, cancelled))
    assert standing(migration(), WAVE, cancelled).state is WaveState.PLANNED
    assert steps_for(standing(migration(), WAVE, cancelled), WaveVerb.START).leg.number == 0


def test_a_wave_of_which_one_part_is_switched_is_neither_ended_nor_given_up() -> None:
    """The other part comes first."""
    wave = replace(WAVE, order=WaveOrder.CONSUMERS_FIRST)
    runs = [ended(WaveVerb.START, [], wave)]
    runs.append(ended(WaveVerb.SWITCH, runs, wave))
    told = "its consumers are switched, and its producers are not"
    assert refusal(WaveVerb.CANCEL, runs, wave) == f"cancel: {told}"
    assert refusal(WaveVerb.COMPLETE, runs, wave) == f"complete: {told}"
    assert steps_for(standing(migration(wave), wave, runs), WaveVerb.SWITCH).part is Part.PRODUCERS


FENCED = replace(WAVE, fences=(FenceKind.ACL,), hooks=Hooks(release="go"))


@pytest.mark.parametrize("wave", [WAVE, FENCED])
def test_a_pause_lasts_from_the_fence_until_applications_go_on(wave: Wave) -> None:
    """Where nobody is kept from writing it begins when that is proved; the way back holds nobody up."""
    run = ended(WaveVerb.SWITCH, [ended(WaveVerb.START, [], wave)], wave, WaveRunState.GOING)
    kinds = [step.kind for step in run.steps]
    first = kinds.index(StepKind.FENCE) - 1 if StepKind.FENCE in kinds else kinds.index(StepKind.QUIET)
    last = kinds.index(StepKind.RELEASE if wave is FENCED else StepKind.PUBLISH_GROUPS)
    seen = []
    for at in range(len(run.steps)):
        run = finished(begun(run), 100 * (at + 1))
        seen.append(pause_of(run))
    since = 100 * (first + 1)
    assert seen[:first] == [None] * first
    assert set(seen[first:last]) == {HeldUp(since, None)}
    assert set(seen[last:]) == {HeldUp(since, 100 * (last + 1))}
    assert (seen[first], seen[-1]) == (HeldUp(since, None), HeldUp(since, 100 * (last + 1)))
    assert HeldUp(since, None).length_ms(since + 7) == 7
    assert HeldUp(since, since + 40).length_ms(10**9) == 40


def test_a_pause_that_was_in_vain_lasts_until_all_is_put_back() -> None:
    """Applications wait for the fence to be lifted."""
    run = ended(WaveVerb.SWITCH, [ended(WaveVerb.START, [], FENCED)], FENCED, WaveRunState.GOING)
    for at in range(3):
        run = finished(begun(run), 100 * (at + 1))
    run = turned(run, 350, "not tonight")
    assert pause_of(run) == HeldUp(100, None)
    while run.state is WaveRunState.TURNED:
        run = put_back(run, 400)
    assert (run.state, pause_of(run)) == (WaveRunState.CANCELLED, HeldUp(100, 400))
    assert pause_of(ended(WaveVerb.START, [])) is None
