"""Steps of a run, done on the two clusters of ``link_lab``: the link that is there is that of the wave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, key_of
from anabranch.migration.spec import CopyRules, Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, switch_steps
from anabranch.model.plugins import PluginSpec
from anabranch.operations.migrations.desk import Scene
from qa.blocking import between
from tests.unit.asking import T
from tests.unit.link_lab import LINK, TO_A, A, Lab

WAVE = Wave("new", (A.topic,), ("shop",))
LEG = Leg(Migration("old", "old", "new", (WAVE,), copy=CopyRules(naming=PluginSpec("prefix"))), WAVE)
STEPS = switch_steps(LEG, Part.ALL)
assert (LEG.link, LEG.topics) == (LINK, {A.topic: TO_A.topic})


def scene_done(
    both: Lab,
    does: Callable[[Scene], Awaitable[T]],
    results: Mapping[StepKind, Mapping[str, Any]] | None = None,
    *,
    subject: str = WAVE.name,
    leg: Leg = LEG,
    steps: tuple[MigrationStep, ...] = STEPS,
    desk: Any = None,
) -> T:
    """What comes of a step of a switch of the wave, after others of the wave have written down these results."""
    noted = {key_of(kind, WAVE.name): result for kind, result in (results or {}).items()}
    run = WaveRun("r", "old", WAVE.name, "switch", steps, 0, results=noted)
    return between(both.source, both.target, lambda here, there: does(Scene(leg, here, there, desk, run, subject)))
