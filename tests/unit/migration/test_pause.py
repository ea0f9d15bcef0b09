"""For how long each topic was not written to, from the journal of a switch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.migration.journal import run_fields, run_of
from anabranch.migration.legs import Leg
from anabranch.migration.pause import LAST, pause_of, topic_pauses
from anabranch.migration.run import WaveRun, WaveRunState, begun, finished
from anabranch.migration.spec import FenceKind, Migration, Wave
from anabranch.migration.steps import Part, StepKind, switch_steps

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders", "clicks", "old", "ahead"), ("shop",), fences=(FenceKind.ACL,))
LEG = Leg(Migration("move", "old", "new", (WAVE,)), WAVE)
STEPS = switch_steps(LEG, Part.ALL)


def switched() -> WaveRun:
    """A switch whose steps took 100 ms each from 10,000 on; producers were denied writing at 10,100."""
    run = WaveRun("r", "move", "orders", "switch", STEPS, 10_000)
    last = {"orders": 10_150, "clicks": 10_050, "old": 9_999, "ahead": 99_999}
    for number, step in enumerate(STEPS, 1):
        run = finished(begun(run), 10_000 + 100 * number, {LAST: last} if step.kind is StepKind.STOP_LINK else None)
    return run


def test_a_topics_pause_begins_with_its_last_record() -> None:
    """Before the fence, or behind it; who wrote before the switch, or has times of later, is not judged."""
    run = run_of(run_fields(switched()))
    held = pause_of(run)
    assert held is not None and held.until_ms is not None
    frees = max(at for at, step in enumerate(STEPS, 1) if step.kind is StepKind.PUBLISH_GROUPS)
    assert held.until_ms == 10_000 + 100 * frees
    assert topic_pauses(run) == {"clicks": held.until_ms - 10_050, "orders": held.until_ms - 10_150}


def test_a_run_that_is_not_over_or_was_taken_back_tells_none() -> None:
    """Its applications have not gone on elsewhere."""
    run = switched()
    assert topic_pauses(replace(run, times=run.times[:3], over_ms=None, state=WaveRunState.GOING)) == {}
    assert topic_pauses(replace(run, why="somebody wrote")) == {}
