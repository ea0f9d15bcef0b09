"""The steps of a switch: one point of no return, and what belongs before and after it (M3, M4)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.legs import Leg
from anabranch.migration.spec import (
    AccessCarryOver,
    FenceKind,
    Hooks,
    JobKind,
    Migration,
    Readers,
    StreamJob,
    Wave,
    WaveOrder,
)
from anabranch.migration.steps import (
    Part,
    StepKind,
    cancel_steps,
    complete_steps,
    parts,
    start_steps,
    switch_steps,
    translated_by,
)

pytestmark = pytest.mark.unit

BEFORE = {
    StepKind.PREFLIGHT,
    StepKind.ACCESS,
    StepKind.FENCE,
    StepKind.HOLD,
    StepKind.QUIET,
    StepKind.PIN,
    StepKind.DRAIN,
    StepKind.PAUSE_LINK,
    StepKind.FENCE_GROUPS,
    StepKind.GROUPS_EMPTY,
    StepKind.STAGE_GROUPS,
    StepKind.STAGE_CHECKPOINTS,
    StepKind.VERIFY_END,
    StepKind.PREPARE_REVERSE,
}
AFTER = {
    StepKind.PUBLISH_GROUPS,
    StepKind.PUBLISH_CHECKPOINTS,
    StepKind.LIFT_FENCE,
    StepKind.LIFT_GROUPS,
    StepKind.ROUTES,
    StepKind.RELEASE,
    StepKind.RUN_REVERSE,
    StepKind.STOP_LINK,
}

waves = st.builds(
    Wave,
    st.just("orders"),
    st.just(("orders",)),
    groups=st.sampled_from([(), ("shop",), ("shop", "billing")]),
    jobs=st.sampled_from([(), (StreamJob("sums", JobKind.SPARK, "/cp"),)]),
    codes=st.sampled_from([(), ("orders",)]),
    order=st.sampled_from(WaveOrder),
    fences=st.sampled_from(
        [(FenceKind.OBSERVE,), (FenceKind.ACL, FenceKind.OBSERVE), (FenceKind.ROUTES,), (FenceKind.HOOK, FenceKind.ACL)]
    ),
    hooks=st.sampled_from([Hooks(), Hooks("./stop", "./go")]),
    readers=st.sampled_from(Readers),
)


UNASKED = AccessCarryOver()


def leg_of(wave: Wave, number: int = 0, access: AccessCarryOver = UNASKED) -> Leg:
    """One of its legs."""
    return Leg(Migration("move", "old", "new", (wave,), access=access), wave, number)


@given(waves, st.booleans())
def test_each_switch_has_one_point_of_no_return(wave: Wave, sync: bool) -> None:
    """What can be put back stands before it, what must be ended after it; nothing is done twice."""
    for part, number in itertools.product(parts(wave), (0, 1, 2)):
        steps = switch_steps(leg_of(wave, number, AccessCarryOver(sync)), part)
        kinds = [step.kind for step in steps]
        at = kinds.index(StepKind.JOURNAL)
        assert kinds.count(StepKind.JOURNAL) == 1
        assert set(kinds[:at]) <= BEFORE and set(kinds[at + 1 :]) <= AFTER
        assert len({(step.kind, step.subject) for step in steps}) == len(steps)


@given(waves)
def test_all_of_a_wave_is_switched_once(wave: Wave) -> None:
    """Its groups and jobs in one part, its producers in one, whatever the order."""
    kinds = [step.kind for part in parts(wave) for step in switch_steps(leg_of(wave), part)]
    assert kinds.count(StepKind.RUN_REVERSE) == kinds.count(StepKind.PIN) == kinds.count(StepKind.DRAIN) == 1
    assert kinds.count(StepKind.PUBLISH_GROUPS) == bool(wave.groups)
    assert kinds.count(StepKind.PUBLISH_CHECKPOINTS) == len(wave.jobs)
    assert kinds.count(StepKind.STAGE_CHECKPOINTS) == len(wave.jobs)


def test_the_order_of_a_switch_is_that_of_the_documents() -> None:
    """Nobody writes before ends are pinned, nothing is translated before all is copied, and the way back stands."""
    wave = Wave("orders", ("orders",), ("shop",), codes=("orders",), fences=(FenceKind.ROUTES, FenceKind.ACL))
    assert parts(wave) == (Part.ALL,)
    assert [step.kind.value for step in switch_steps(leg_of(wave), Part.ALL)] == [
        "preflight",
        "fence producers",
        "fence producers",
        "prove that nobody writes",
        "pin ends",
        "drain",
        "pause link",
        "groups empty",
        "translate groups",
        "verify what is new",
        "prepare reverse link",
        "point of no return",
        "publish groups",
        "publish routes",
        "run reverse link",
        "stop link",
    ]
    assert [step.kind.value for step in start_steps(leg_of(wave))] == [
        "look",
        "create link",
        "run link",
        "catch up",
    ]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (WaveOrder.CONSUMERS_FIRST, (Part.CONSUMERS, Part.PRODUCERS)),
        (WaveOrder.PRODUCERS_FIRST, (Part.PRODUCERS, Part.CONSUMERS)),
    ],
)
def test_parts_follow_each_other_as_the_wave_says(order: WaveOrder, expected: tuple[Part, ...]) -> None:
    """Where nobody reads there is one part alone."""
    assert parts(Wave("orders", ("orders",), ("shop",), order=order)) == expected
    assert parts(Wave("orders", ("orders",), order=order)) == (Part.ALL,)


@pytest.mark.parametrize("order", [WaveOrder.CONSUMERS_FIRST, WaveOrder.PRODUCERS_FIRST])
def test_readers_of_a_part_of_their_own_pause_before_their_groups_are_looked_at(order: WaveOrder) -> None:
    """Those that use the SDK; where none is led by routes they are waited for."""
    wave = Wave("orders", ("orders",), ("shop",), codes=("orders",), order=order, fences=(FenceKind.ROUTES,))
    told = [step.kind.value for step in switch_steps(leg_of(wave), Part.CONSUMERS)]
    assert told == [
        "preflight",
        "hold consumers",
        "groups empty",
        "translate groups",
        "verify what is new",
        "point of no return",
        "publish groups",
        "publish routes",
    ]
    plain = replace(wave, codes=(), fences=(FenceKind.OBSERVE,))
    assert StepKind.HOLD not in [step.kind for step in switch_steps(leg_of(plain), Part.CONSUMERS)]
    assert StepKind.HOLD not in [step.kind for step in switch_steps(leg_of(wave), Part.PRODUCERS)]


@given(waves, st.integers(0, 3))
def test_groups_are_denied_once_all_else_is_done_and_let_in_once_they_have_positions(wave: Wave, number: int) -> None:
    """Members are thrown out as late as can be; where a later leg leads they may read once they are committed for."""
    denies = wave.readers is Readers.DENY and bool(wave.groups)
    for part in parts(wave):
        kinds = [step.kind for step in switch_steps(leg_of(wave, number), part)]
        if denies and part is not Part.PRODUCERS:
            at = kinds.index(StepKind.FENCE_GROUPS)
            assert kinds[at : at + 3] == [StepKind.FENCE_GROUPS, StepKind.GROUPS_EMPTY, StepKind.STAGE_GROUPS]
        else:
            assert not {StepKind.FENCE_GROUPS, StepKind.LIFT_GROUPS} & {*kinds}
        lets_in = denies and number > 0 and part is not Part.PRODUCERS
        assert (StepKind.LIFT_GROUPS in kinds) is lets_in
        assert not lets_in or kinds.index(StepKind.PUBLISH_GROUPS) < kinds.index(StepKind.LIFT_GROUPS)
    assert (StepKind.LIFT_GROUPS in [step.kind for step in cancel_steps(leg_of(wave, number), purge=False)]) is (
        denies and number > 0
    )


def test_readers_go_on_by_the_map_of_the_link_that_fills_what_they_read() -> None:
    """Those whose producers went ahead read what the way back brings; on the next way the same holds."""
    by = {
        (order, part, number): translated_by(leg_of(Wave("w", ("t",), ("g",), order=order), number), part).link
        for order in WaveOrder
        for part in parts(Wave("w", ("t",), ("g",), order=order))
        for number in (0, 1)
    }
    assert by[WaveOrder.TOGETHER, Part.ALL, 0] == by[WaveOrder.CONSUMERS_FIRST, Part.CONSUMERS, 0] == "move-w"
    assert by[WaveOrder.TOGETHER, Part.ALL, 1] == by[WaveOrder.CONSUMERS_FIRST, Part.CONSUMERS, 1] == "move-w-back"
    assert by[WaveOrder.PRODUCERS_FIRST, Part.CONSUMERS, 0] == "move-w-back"
    assert by[WaveOrder.PRODUCERS_FIRST, Part.CONSUMERS, 1] == "move-w-2"
    assert by[WaveOrder.PRODUCERS_FIRST, Part.PRODUCERS, 0] == "move-w"


def test_what_is_over_forgets_the_last_link_first() -> None:
    """Each is the way back of the one before it; only what is asked for empties the target."""
    wave = Wave("orders", ("orders",))
    told = [(step.kind.value, step.subject) for step in complete_steps(leg_of(wave, 1))]
    assert told == [
        ("point of no return", "orders"),
        ("stop link", "move-orders-back"),
        ("delete link", "move-orders-back"),
        ("delete link", "move-orders"),
    ]
    assert [step.kind for step in cancel_steps(leg_of(wave), purge=False)][-1] is StepKind.DELETE_LINK
    assert [step.kind for step in cancel_steps(leg_of(wave), purge=True)][-1] is StepKind.PURGE


@pytest.mark.parametrize(("number", "carries"), [(0, True), (1, False), (2, True)])
def test_access_rules_are_carried_over_on_each_way_to_the_target(number: int, carries: bool) -> None:
    """Once the link runs, and right after the first look of a switch; never on the way back, never unasked."""
    wave = Wave("orders", ("orders",), ("shop",))
    leg = leg_of(wave, number, AccessCarryOver(True))
    start, switch = ([step.kind for step in steps] for steps in (start_steps(leg), switch_steps(leg, Part.ALL)))
    assert (start[3] is StepKind.ACCESS, switch[1] is StepKind.ACCESS) == (carries, carries)
    assert [kinds.count(StepKind.ACCESS) for kinds in (start, switch)] == [carries, carries]
    plain = leg_of(wave, number, AccessCarryOver(principals={"User:a": "User:b"}, quotas=True))
    assert not any(step.kind is StepKind.ACCESS for step in (*start_steps(plain), *switch_steps(plain, Part.ALL)))


@given(waves, st.booleans())
def test_a_cancel_lifts_what_a_reverse_has_denied_on_the_target(wave: Wave, purge: bool) -> None:
    """It may be started over, and its producers are led to where they were denied writing; before any turn none is."""
    leg = Leg(Migration("move", "old", "new", (wave,)), wave)
    for number in (0, 2, 4):
        lifts = [step for step in cancel_steps(leg.at(number), purge=purge) if step.kind is StepKind.LIFT_FENCE]
        assert bool(lifts) is (number > 0 and FenceKind.ACL in wave.fences)
        assert all(step.text.endswith("on new again") for step in lifts)
