"""An engine that is killed at each step boundary and inside of each step, and begun again, ends what it had begun.

The steps are those of the code: a list that has one more has one more to be killed in.  In CI some points are drawn,
always the same; that each step was killed in between its end and the writing of that holds in each case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.options import WaveOptions
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration, WaveOrder
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import Part, StepKind, parts
from anabranch.migration.wave_steps import steps_for
from tests.chance import seed
from tests.integration.kills.journals import assert_journals
from tests.integration.kills.points import DONE, KillPlan
from tests.integration.kills.proofs import (
    assert_completed,
    assert_logs,
    assert_not_switched,
    assert_partly_switched,
    assert_purged,
    assert_switched,
    until_copied,
)
from tests.integration.kills.scene import Pair, migration_of, scene
from tests.integration.kills.soak import episode
from tests.integration.kills.stand import KillStand

pytestmark = [pytest.mark.test, pytest.mark.real]

QUIETLY = KillPlan(only=frozenset())
"""Nobody is killed."""


# -- what is done ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trip:
    """A verb of an itinerary; ``quietly`` where nobody is killed: it only leads to what is tried."""

    verb: WaveVerb
    quietly: bool = False
    request: Mapping[str, Any] = field(default_factory=dict, hash=False)


START, SWITCH, REVERSE = Trip(WaveVerb.START), Trip(WaveVerb.SWITCH), Trip(WaveVerb.REVERSE)
ITINERARIES: Mapping[str, tuple[WaveOrder, tuple[Trip, ...]]] = {
    "there": (WaveOrder.TOGETHER, (START, Trip(WaveVerb.VERIFY), SWITCH)),
    "back": (WaveOrder.TOGETHER, (Trip(WaveVerb.START, True), Trip(WaveVerb.SWITCH, True), REVERSE)),
    "there again": (
        WaveOrder.TOGETHER,
        (
            *(Trip(verb, True) for verb in (WaveVerb.START, WaveVerb.SWITCH, WaveVerb.REVERSE)),
            *(SWITCH, Trip(WaveVerb.COMPLETE)),
        ),
    ),
    "in parts": (WaveOrder.CONSUMERS_FIRST, (Trip(WaveVerb.START, True), SWITCH, SWITCH)),
    "in other parts": (
        WaveOrder.PRODUCERS_FIRST,
        (Trip(WaveVerb.START, True), *(Trip(WaveVerb.SWITCH, True),) * 2, REVERSE, REVERSE),
    ),
    "cancelled": (
        WaveOrder.TOGETHER,
        (
            Trip(WaveVerb.START, True),
            Trip(WaveVerb.CANCEL),
            Trip(WaveVerb.CANCEL, False, {"purge": True}),
            Trip(WaveVerb.START, True),
            Trip(WaveVerb.CANCEL, False, {"purge": True}),
        ),
    ),
}


def gone(made: KillStand, trips: tuple[Trip, ...], plan: KillPlan) -> None:
    """Go an itinerary by engines that are killed, and see after each verb that all is as it must be."""
    for trip in trips:
        before = len(made.killed)
        run = made.carried_out(trip.verb.value, QUIETLY if trip.quietly else plan, **trip.request)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        if not trip.quietly:
            assert_killed(run, made.killed[before:])
        assert_done(made, run, trip)
    assert_journals(made)


def assert_killed(run: WaveRun, points: list[str]) -> None:
    """An engine has died in each of its steps, at least once what it does was done."""
    for at, step in enumerate(run.steps):
        name = f"{run.what} {run.part.value} {run.leg}, {at:02d} {step.kind.value}: {DONE}"
        assert name in points, name


def assert_done(made: KillStand, run: WaveRun, trip: Trip) -> None:
    """What holds once a verb is done."""
    match trip.verb:
        case WaveVerb.START | WaveVerb.VERIFY:
            until_copied(made, 0)
            assert_logs(made)
        case WaveVerb.SWITCH | WaveVerb.REVERSE:
            if run.part is parts(made.wave)[-1]:
                assert_switched(made, run.leg)
            else:
                assert_partly_switched(made, run.leg, run.part)
        case WaveVerb.COMPLETE:
            assert_completed(made, run.leg)
        case WaveVerb.CANCEL:
            assert_purged(made, purged=bool(trip.request))


WITHOUT_CLUSTER = {
    StepKind.PROVE_LOST,
    StepKind.LOST_TAIL,
    StepKind.LOST_GROUPS,
    StepKind.LOST_CHECKPOINTS,
    StepKind.PROVE_FOUND,
    StepKind.FIND_TAIL,
    StepKind.RESUME_LINK,
    StepKind.PUT_BACK,
}
"""Steps of a switch without the cluster that is left, and of what is done when that is back."""


def test_each_kind_of_step_is_in_an_itinerary(tmp_path: Path) -> None:
    """So that none is left out of those that an engine is killed in; engines die in others in test_killed_lost.py."""
    found: set[StepKind] = set()
    for order, trips in ITINERARIES.values():
        migration = migration_of("move", tmp_path, order)
        for trip in trips:
            found |= set() if trip.quietly else kinds(migration, trip)
    assert found == set(StepKind) - WITHOUT_CLUSTER


def kinds(migration: Migration, trip: Trip) -> set[StepKind]:
    """The kinds of steps of a verb, wherever its wave may stand."""
    wave = migration.waves[0]
    found: set[StepKind] = set()
    states = {
        WaveVerb.START: (WaveState.PLANNED, 0),
        WaveVerb.VERIFY: (WaveState.COPYING, 0),
        WaveVerb.SWITCH: (WaveState.COPYING, 2),
        WaveVerb.REVERSE: (WaveState.SWITCHED, 1),
        WaveVerb.COMPLETE: (WaveState.SWITCHED, 1),
        WaveVerb.CANCEL: (WaveState.COPYING, 0),
    }
    state, number = states[trip.verb]
    for switched in ((), parts(wave)[:1]) if trip.verb in (WaveVerb.SWITCH, WaveVerb.REVERSE) else ((),):
        switched_ = () if switched == (Part.ALL,) else switched
        stands = WaveStanding(Leg(migration, wave, number), state, switched_)
        found |= {step.kind for step in steps_for(stands, trip.verb, WaveOptions(purge=bool(trip.request))).steps}
    return found


def test_a_wave_is_started_and_switched_by_engines_that_die(pair: Pair, store: str) -> None:
    """Between and inside of its steps, drawn by a seed; its applications go on at exactly their records."""
    order, trips = ITINERARIES["there"]
    with scene(pair, store, order) as made:
        gone(made, trips, KillPlan(share=3, seed=seed(1)))


def test_a_wave_goes_back_and_forth_by_engines_that_die(pair: Pair) -> None:
    """A short soak, always the same one in CI: `make soak` has longer ones."""
    assert episode(pair, seed(4), print, 2) > 0


def test_a_switch_is_taken_back_by_engines_that_die(pair: Pair, tmp_path: Path) -> None:
    """Somebody writes behind the pinned ends; nothing is left of it, and then the wave is switched."""
    with scene(pair, str(tmp_path / "store.db")) as made:
        gone(made, (Trip(WaveVerb.START, True),), QUIETLY)
        taken_back(made, KillPlan(share=10, seed=seed(2)))
        run = made.carried_out("switch", QUIETLY)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        assert_switched(made, 0)


def taken_back(made: KillStand, plan: KillPlan) -> None:
    """A switch that ends at its last look, and is taken back by engines that die meanwhile."""
    steps = [step.kind for step in steps_for(WaveStanding(made.leg(), WaveState.COPYING), WaveVerb.SWITCH).steps]
    last_look = f"{steps.index(StepKind.VERIFY_END):02d} {StepKind.VERIFY_END.value}"
    run = made.killed_at("switch", f"switch all 0, {last_look}: begun")
    made.write(made.old, 3)
    ended = made.carried_out("switch", plan)
    assert (ended.id, ended.state) == (run.id, WaveRunState.CANCELLED)
    assert "came to" in ended.why
    assert_not_switched(made)
    assert_journals(made)
