"""A step that takes long hears that its run is to be taken back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from anabranch.errors import AnabranchError
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import FenceKind, Hooks, Migration, Wave
from anabranch.migration.steps import Part, StepKind, switch_steps
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.engine import KeptRun
from anabranch.service.errors import NotActingError
from anabranch.service.migrating import why_unwanted
from anabranch.store.errors import StoreError

pytestmark = pytest.mark.unit

WAVE = Wave("clicks", ("clicks",), fences=(FenceKind.HOOK,), hooks=Hooks("stop", "start"))
STEPS = switch_steps(Leg(Migration("move", "old", "new", (WAVE,)), WAVE), Part.ALL)
KINDS = [step.kind for step in STEPS]
LONG_AGO, NEVER = 1_000, 10**15
FENCES = WaveRun("r", "move", "clicks", "switch", STEPS, 0, NEVER, at=1, is_begun=True, times=(LONG_AGO,))


@dataclass
class Kept:
    """The journal of a run, or why it cannot be read."""

    kept: KeptRun | AnabranchError

    async def read(self, _: str) -> KeptRun:
        """As it is now."""
        if isinstance(self.kept, AnabranchError):
            raise self.kept
        return self.kept


def why(run: WaveRun, cancelled: str = "") -> str:
    """What a hook that runs for it hears."""
    return asyncio.run(why_unwanted(Kept(KeptRun(run, 1, cancelled)), run.id))


def test_a_hook_hears_that_its_run_is_given_up_or_takes_too_long() -> None:
    """Before the point of no return alone, and not as it is taken back: then the hook is what lets applications go."""
    assert KINDS[1] is StepKind.FENCE and now_ms() > LONG_AGO
    assert why(FENCES) == ""
    assert why(FENCES, "mei: not tonight") == "mei: not tonight"
    assert why(replace(FENCES, longest_ms=5_000)).startswith("it would hold applications up for longer than 5 s")
    turned = replace(FENCES, state=WaveRunState.TURNED, longest_ms=5_000)
    passed = replace(FENCES, at=KINDS.index(StepKind.RELEASE), times=(LONG_AGO,) * len(STEPS), longest_ms=5_000)
    assert why(turned, "mei: not tonight") == why(passed, "mei: not tonight") == ""


@pytest.mark.parametrize("error", [NotActingError("b"), StoreError("old.db", "it is locked")])
def test_a_hook_goes_on_where_nobody_knows(error: AnabranchError) -> None:
    """A store that does not answer for a moment ends no hook."""
    assert asyncio.run(why_unwanted(Kept(error), "r")) == ""
