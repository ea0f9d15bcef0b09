"""A wave that was switched without its source: what may be lost, what is done, and what can be asked for then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.lost import (
    FoundLane,
    LostLane,
    LostState,
    found_words,
    lane_fields,
    lanes_of,
    loses_tail,
    lost_words,
)
from anabranch.migration.lost_steps import lost_complete_steps, lost_switch_steps, reconcile_steps
from anabranch.migration.options import PLAIN, TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.pause import pause_of
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import FenceKind, Hooks, JobKind, Migration, StreamJob, Wave, WaveOrder
from anabranch.migration.standing import WaveState, WaveVerb, standing
from anabranch.migration.steps import Part, StepKind, parts
from anabranch.migration.wave_steps import WaveStateError, steps_for
from tests.unit.migration.test_steps import leg_of, waves

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), ("shop",))
LOST = WaveOptions(lost=UnknownGroups.LATEST)
ASKS_LEFT = {
    StepKind.PREFLIGHT,
    StepKind.ACCESS,
    StepKind.QUIET,
    StepKind.PIN,
    StepKind.DRAIN,
    StepKind.GROUPS_EMPTY,
    StepKind.STAGE_GROUPS,
    StepKind.STAGE_CHECKPOINTS,
    StepKind.VERIFY_END,
    StepKind.PREPARE_REVERSE,
    StepKind.RUN_REVERSE,
}
"""Steps that ask both clusters, or the one that is left."""


# -- steps -----------------------------------------------------------------------------------------------------


@given(waves, st.sampled_from(UnknownGroups), st.sampled_from([0, 2]))
def test_a_switch_without_its_source_asks_nothing_of_it(wave: Wave, groups: UnknownGroups, number: int) -> None:
    """One point of no return, each step once, groups and jobs as ever, and no way back."""
    for part in {*parts(wave), Part.ALL}:
        steps = lost_switch_steps(leg_of(wave, number), part, groups)
        kinds = [step.kind for step in steps]
        assert kinds[0] is StepKind.PROVE_LOST and kinds.count(StepKind.JOURNAL) == 1
        assert not ASKS_LEFT & set(kinds)
        assert len({(step.kind, step.subject) for step in steps}) == len(steps)
        at = kinds.index(StepKind.JOURNAL)
        for staged, put in (
            (StepKind.LOST_GROUPS, StepKind.PUBLISH_GROUPS),
            (StepKind.LOST_CHECKPOINTS, StepKind.PUBLISH_CHECKPOINTS),
            (StepKind.PAUSE_LINK, StepKind.STOP_LINK),
        ):
            assert kinds[:at].count(staged) == kinds[at:].count(put)
        fences = {step.subject for step in steps if step.kind is StepKind.FENCE}
        assert fences <= {FenceKind.ROUTES, FenceKind.HOOK}


@given(waves, st.sampled_from(TailChoice))
def test_a_reconcile_prepares_the_way_back_only_where_nothing_may_be_left(wave: Wave, tail: TailChoice) -> None:
    """What is appended is appended after the point of no return, for nobody can put it back."""
    kinds = [step.kind for step in reconcile_steps(leg_of(wave), tail)]
    at = kinds.index(StepKind.JOURNAL)
    assert kinds.count(StepKind.JOURNAL) == 1 and kinds.index(StepKind.FIND_TAIL) < at
    assert (
        (StepKind.PREPARE_REVERSE in kinds[:at]) is (StepKind.RUN_REVERSE in kinds[at:]) is (tail is TailChoice.REFUSE)
    )
    appends = {StepKind.RESUME_LINK, StepKind.RUN_LINK, StepKind.DRAIN}
    assert (appends <= set(kinds[at:])) is (tail is TailChoice.APPEND) and not appends & set(kinds[:at])
    assert (StepKind.FENCE in kinds) is (FenceKind.ACL in wave.fences)


def test_the_order_of_a_switch_without_its_source_is_that_of_the_documents() -> None:
    """Applications are held first, and led once all is published."""
    wave = Wave(
        "orders",
        ("orders",),
        ("shop",),
        (StreamJob("sums", JobKind.SPARK, "/cp"),),
        codes=("orders",),
        fences=(FenceKind.ROUTES, FenceKind.ACL, FenceKind.OBSERVE),
        hooks=Hooks(release="go"),
    )
    assert [step.kind.value for step in lost_switch_steps(leg_of(wave), Part.ALL, UnknownGroups.REFUSE)] == [
        "prove that the cluster is gone",
        "fence producers",
        "pause link",
        "find the lost tail",
        "find groups without the cluster",
        "translate checkpoints without the cluster",
        "point of no return",
        "publish groups",
        "publish checkpoints",
        "publish routes",
        "release",
        "stop link",
    ]


def test_what_is_completed_without_a_source_leaves_what_is_stored_there() -> None:
    """Only links of the target are deleted; those that stay are named."""
    steps = lost_complete_steps(leg_of(WAVE, 3), is_made=False)
    assert [(step.kind.value, step.subject) for step in steps] == [
        ("point of no return", "orders"),
        ("stop link", "move-orders-2"),
        ("delete link", "move-orders-2"),
        ("delete link", "move-orders"),
    ]
    assert steps[0].text.endswith("; move-orders-back: stored on old, where it stays")


# -- where it stands -------------------------------------------------------------------------------------------


def migration(wave: Wave) -> Migration:
    """Of this wave alone."""
    return Migration("move", "old", "new", (wave,))


def ended(
    verb: WaveVerb,
    runs: list[WaveRun],
    asked: WaveOptions = PLAIN,
    wave: Wave = WAVE,
    results: dict[str, dict[str, Any]] | None = None,
) -> WaveRun:
    """A run of a verb where the wave stands, which ended well; kept as a store keeps it."""
    found = steps_for(standing(migration(wave), wave, runs), verb, asked)
    made = WaveRun("r", "move", wave.name, verb.value, found.steps, 0, part=found.part, leg=found.leg.number)
    made = replace(made, state=WaveRunState.DONE, results=results or {})
    assert run_of(run_fields(made)) == made
    return made


EVERY = [
    (WaveVerb.SWITCH, PLAIN),
    (WaveVerb.SWITCH, LOST),
    (WaveVerb.REVERSE, PLAIN),
    *((WaveVerb.RECONCILE, WaveOptions(tail=tail)) for tail in TailChoice),
]


@given(st.sampled_from(WaveOrder), st.lists(st.sampled_from(EVERY), max_size=14))
def test_a_wave_without_its_source_goes_back_only_once_a_way_back_is_made(
    order: WaveOrder, asked: list[tuple[WaveVerb, WaveOptions]]
) -> None:
    """L3, whatever was asked for in which order; what is refused changes nothing."""
    wave = replace(WAVE, order=order)
    runs = [ended(WaveVerb.START, [], wave=wave)]
    lost: LostState | None = None
    for verb, options in asked:
        before = standing(migration(wave), wave, runs)
        assert (before.lost is None) is (lost is None) and (before.lost is None or before.lost.state is lost)
        is_back = before.leg.leads_back
        fits = {
            WaveVerb.SWITCH: not is_back or bool(before.switched and options.lost is not None),
            WaveVerb.REVERSE: is_back and lost is None and not before.is_halted,
            WaveVerb.RECONCILE: lost is not None or (is_back and before.is_gone),
        }[verb]
        if not fits:
            with pytest.raises(WaveStateError):
                steps_for(before, verb, options)
            continue
        run = ended(verb, runs, options, wave)
        runs.append(run)
        after = standing(migration(wave), wave, runs)
        if verb is WaveVerb.REVERSE:
            assert lost is None
        elif verb is WaveVerb.RECONCILE and lost is None:
            assert (after.leg, after.is_gone) == (before.leg, False)
        elif verb is WaveVerb.RECONCILE:
            kept = {TailChoice.KEEP: LostState.KEPT, TailChoice.APPEND: LostState.APPENDED}
            lost = kept.get(options.tail)
            assert after.leg == before.leg
        elif options.lost is not None:
            # Consumers that go after their producers lose nothing: all was copied before these went.
            assert run.goes_without and after.state is WaveState.SWITCHED
            lost = LostState.GONE if loses_tail(run) else lost
            assert loses_tail(run) is (run.part is not Part.CONSUMERS)


def refusal(verb: WaveVerb, runs: list[WaveRun]) -> WaveStateError:
    """Why a verb is refused."""
    with pytest.raises(WaveStateError) as error:
        steps_for(standing(migration(WAVE), WAVE, runs), verb)
    return error.value


def test_a_wave_whose_consumers_followed_without_the_source_is_completed_without_it() -> None:
    """Its way back was made as its producers went, and is stored where nobody answers."""
    wave = replace(WAVE, order=WaveOrder.PRODUCERS_FIRST)
    runs = [ended(WaveVerb.START, [], wave=wave)]
    runs.append(ended(WaveVerb.SWITCH, runs, wave=wave))
    runs.append(ended(WaveVerb.SWITCH, runs, LOST, wave))
    stands = standing(migration(wave), wave, runs)
    assert (stands.lost, stands.is_gone, stands.state) == (None, True, WaveState.SWITCHED)
    steps = steps_for(stands, WaveVerb.COMPLETE).steps
    assert [(step.kind.value, step.subject) for step in steps] == [
        ("point of no return", "orders"),
        ("stop link", "move-orders"),
        ("delete link", "move-orders"),
    ]
    assert steps[0].text.endswith("; move-orders-back: stored on old, where it stays")


def test_a_wave_that_is_half_back_says_where_each_part_is() -> None:
    """What is left to do needs the cluster that half of it is on, or a word that this is lost."""
    wave = replace(WAVE, order=WaveOrder.CONSUMERS_FIRST)
    runs = [ended(WaveVerb.START, [], wave=wave)]
    for verb in (WaveVerb.SWITCH, WaveVerb.SWITCH, WaveVerb.REVERSE):
        runs.append(ended(verb, runs, wave=wave))
    with pytest.raises(WaveStateError, match="its consumers are on old already, and its producers on new") as error:
        steps_for(standing(migration(wave), wave, runs), WaveVerb.SWITCH)
    assert "migrate reverse move --wave orders" in error.value.hint
    assert "migrate switch move --wave orders --source-lost" in error.value.hint


def test_a_wave_whose_new_cluster_is_gone_says_what_the_old_one_has_of_it() -> None:
    """The way back asks the cluster that is left: a switch without its source leads the other way alone."""
    runs = [ended(WaveVerb.START, [])]
    runs.append(ended(WaveVerb.SWITCH, runs))
    with pytest.raises(
        WaveStateError, match="its applications are on new, and old is what it would go without"
    ) as error:
        steps_for(standing(migration(WAVE), WAVE, runs), WaveVerb.SWITCH, LOST)
    assert "`anabranch migrate reverse move --wave orders --target-lost`" in error.value.hint


def test_what_does_not_fit_says_why_and_the_next_command() -> None:
    """Until the way back is made, and as the tail was kept or appended."""
    runs = [ended(WaveVerb.START, [])]
    assert "was not led away from a lost cluster" in refusal(WaveVerb.RECONCILE, runs).message
    runs.append(ended(WaveVerb.SWITCH, runs, LOST))
    told = refusal(WaveVerb.REVERSE, runs)
    assert told.message.endswith("it was switched without old, and what that had beyond the copies is not known")
    assert told.hint == "once old answers: `anabranch migrate reconcile move --wave orders`"
    assert refusal(WaveVerb.SWITCH, runs).hint == "go back by: `anabranch migrate reconcile move --wave orders`"
    assert refusal(WaveVerb.VERIFY, runs).hint == refusal(WaveVerb.CANCEL, runs).hint == told.hint
    kept = [*runs, ended(WaveVerb.RECONCILE, runs, WaveOptions(tail=TailChoice.KEEP))]
    assert "`anabranch migrate reconcile move --wave orders --tail append`" in refusal(WaveVerb.REVERSE, kept).hint
    appended = [*runs, ended(WaveVerb.RECONCILE, runs, WaveOptions(tail=TailChoice.APPEND))]
    assert "no way back was made since" in refusal(WaveVerb.REVERSE, appended).message
    assert standing(migration(WAVE), WAVE, [*kept, ended(WaveVerb.COMPLETE, kept)]).state is WaveState.COMPLETED
    back = [*appended, ended(WaveVerb.RECONCILE, appended)]
    assert steps_for(standing(migration(WAVE), WAVE, back), WaveVerb.REVERSE).leg.number == 1


def test_doubts_of_the_last_word_are_kept() -> None:
    """Those of the switch until the source is back, those of the reconcile then."""
    runs = [ended(WaveVerb.START, [])]
    runs.append(ended(WaveVerb.SWITCH, runs, LOST, results={"a": {"doubts": ["one"]}, "b": {"doubts": ["two"]}}))
    found = standing(migration(WAVE), WAVE, runs).lost
    assert found is not None and found.doubts == ("one", "two")
    runs.append(
        ended(WaveVerb.RECONCILE, runs, WaveOptions(tail=TailChoice.KEEP), results={"c": {"doubts": ["three"]}})
    )
    found = standing(migration(WAVE), WAVE, runs).lost
    assert found is not None and found.doubts == ("three",)


def test_nobody_says_for_how_long_applications_were_held_up_that_a_loss_held_up() -> None:
    """It began before the switch, at a moment that nobody knows."""
    runs = [ended(WaveVerb.START, [])]
    run = ended(WaveVerb.SWITCH, runs, LOST)
    assert pause_of(replace(run, times=tuple(range(len(run.steps))))) is None


# -- words -----------------------------------------------------------------------------------------------------

lanes = st.builds(
    LostLane,
    st.from_regex(r"[a-z]{1,5}-[0-9]", fullmatch=True),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.none() | st.integers(0, 2000),
    st.integers(1_700_000_000_000, 1_900_000_000_000),
)


@given(st.lists(lanes, max_size=12, unique_by=lambda lane: lane.partition))
def test_each_lane_is_told_of_and_kept_as_it_is(found: list[LostLane]) -> None:
    """L1: what was seen and not copied has a sentence of its own, with its offsets; the rest one together."""
    assert lanes_of(lane_fields(found)) == tuple(found)
    told = list(lost_words(found, "old"))
    own = [lane for lane in found if lane.tail or lane.end is None]
    assert len(told) == len(own) + any(lane not in own for lane in found)
    for lane in own:
        (said,) = [one for one in told if f" {lane.partition} " in f" {one}"]
        assert f"{lane.copied:,}" in said


def test_what_is_lost_is_told_by_offset_and_time() -> None:
    """And what was found later by its records."""
    seen = 1_795_651_200_000
    assert list(lost_words([LostLane("a-0", 100, 90, 112, seen), LostLane("a-1", 5, 5)], "old")) == [
        "offsets 100 to 111 of a-0 are possibly lost; what was written after 2026-11-26 00:00:00 UTC is not known",
        "a-1 was copied up to 5; where its log ended on old was never seen",
    ]
    assert list(lost_words([LostLane("a-0", 9, 9, 9, seen)], "old")) == [
        "partition a-0: all was copied that was seen; what was written after 2026-11-26 00:00:00 UTC is not known"
    ]
    found = [FoundLane("a-0", 100, 112, 11), FoundLane("a-1", 9, 9), FoundLane("a-2", 0, 2_000_000)]
    assert list(found_words(found, "old", "new")) == [
        "11 records (offsets 100 to 111) of a-0 are on old, and not on new",
        "offsets 0 to 1,999,999 of a-2 are on old, and not on new",
    ]
    assert FoundLane("a-0", 66, 67, 0).tail == 0, "a marker is no record"
