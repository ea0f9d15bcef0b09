"""Engines that die once before what was begun is given up, and few times on the way there and back."""

from __future__ import annotations

import pytest

from anabranch.migration.run import WaveRunState
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.migration.wave_steps import steps_for
from tests.chance import seed
from tests.integration.kills.journals import assert_journals
from tests.integration.kills.points import DONE, KillPlan
from tests.integration.kills.proofs import assert_not_started, assert_not_switched, assert_switched
from tests.integration.kills.scene import Pair, scene
from tests.integration.kills.stand import KillStand
from tests.integration.kills.test_killed_engine import QUIETLY, Trip, gone, taken_back

pytestmark = [pytest.mark.full, pytest.mark.real]


def test_a_start_is_taken_back_from_each_step_by_engines_that_die(pair: Pair, store: str) -> None:
    """It leaves nothing behind, and the wave can be started over."""
    with scene(pair, store) as made:
        steps = steps_for(WaveStanding(made.leg()), WaveVerb.START).steps
        for at, step in enumerate(steps):
            made.killed_at("start", f"start all 0, {at:02d} {step.kind.value}: {DONE}")
            made.give_up("mei: not tonight")
            assert made.carried_out("start", KillPlan()).state is WaveRunState.CANCELLED
            assert_not_started(made)
        gone(made, (Trip(WaveVerb.START, True), Trip(WaveVerb.SWITCH, True)), QUIETLY)


def test_a_switch_is_taken_back_from_each_step_by_engines_that_die(pair: Pair, store: str) -> None:
    """Whoever gives it up before the point of no return finds all as before."""
    with scene(pair, store) as made:
        gone(made, (Trip(WaveVerb.START, True),), QUIETLY)
        steps = steps_for(WaveStanding(made.leg(), WaveState.COPYING), WaveVerb.SWITCH).steps
        for at, step in enumerate(steps):
            if step.kind is StepKind.JOURNAL:
                break
            made.killed_at("switch", f"switch all 0, {at:02d} {step.kind.value}: {DONE}")
            made.give_up("mei: not tonight")
            assert made.carried_out("switch", KillPlan()).state is WaveRunState.CANCELLED
            assert_not_switched(made)
        taken_back(made, KillPlan())
        gone(made, (Trip(WaveVerb.SWITCH, True),), QUIETLY)


@pytest.mark.parametrize("number", range(4))
def test_an_engine_dies_once(pair: Pair, store: str, number: int) -> None:
    """At points that are drawn, few of each migration, so that no later death mends what an earlier one did."""
    drawn = KillPlan(share=2, seed=seed(100 + number), bounds=False)
    with scene(pair, store) as made:
        gone_once(made, drawn)


def gone_once(made: KillStand, plan: KillPlan) -> None:
    """There and back."""
    for verb in ("start", "switch", "reverse"):
        run = made.carried_out(verb, plan)
        assert (run.state, run.why) == (WaveRunState.DONE, "")
        if verb != "start":
            assert_switched(made, run.leg)
    assert_journals(made)
