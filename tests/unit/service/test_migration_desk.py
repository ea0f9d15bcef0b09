"""What the service's desk of migrations makes of a comparison that has long told nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.spec import FenceKind, Hooks, Migration, Wave
from anabranch.migration.steps import Part
from anabranch.model.reasons import Severity
from anabranch.operations.migrations.engine import NotYetError
from anabranch.service import migration_desk
from anabranch.service.migration_desk import DifferentCopyError, ServiceMigrationDesk
from anabranch.state.codecs.verified import SILENT_MS, RunState, VerifyRun, VerifyStatus

pytestmark = pytest.mark.unit


def desk(lives: bool) -> ServiceMigrationDesk:
    """One on a machine where the comparison's process lives, or does not."""

    async def pair(*_: str) -> tuple[None, None]:
        return None, None

    async def running(*_: str) -> bool:
        return lives

    clusters, processes = SimpleNamespace(pair=pair), SimpleNamespace(running=running)
    launching: Any = SimpleNamespace(clusters=clusters, processes=processes)
    nobody: Any = None
    return ServiceMigrationDesk(launching, nobody)


async def test_a_silent_comparison_is_waited_for_while_its_job_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that has too much to do it tells nothing for minutes; without a process it is over."""
    run = VerifyRun("move-shop", "run-1", RunState.RUNNING, 0, 0, 0, 0, 0, 0, 0, {}, {})

    async def silent(*_: object) -> VerifyStatus:
        return VerifyStatus(run, (), None, SILENT_MS)

    monkeypatch.setattr(migration_desk.verify_show, "show", silent)
    with pytest.raises(NotYetError, match="0 of 0 offsets are compared"):
        await desk(lives=True).verify("new", "move-shop", 0)
    with pytest.raises(DifferentCopyError, match="says nothing: its job is gone"):
        await desk(lives=False).verify("new", "move-shop", 0)


async def test_hooks_that_the_service_does_not_have_are_told_before_one_is_needed() -> None:
    """The one that lets applications go on is run past the point of no return, where it would be waited for."""
    wave = Wave("shop", ("orders",), fences=(FenceKind.HOOK,), hooks=Hooks("stop", "go"))
    leg = Leg(Migration("move", "old", "new", (wave,)), wave)
    nobody: Any = None
    found = await ServiceMigrationDesk(nobody, nobody, {}).against(leg, Part.ALL)
    assert [one.what for one in found] == [f"the service has no hook '{name}'" for name in ("stop", "go")]
    assert {one.severity for one in found} == {Severity.ERROR}
    consumers = await ServiceMigrationDesk(nobody, nobody, {"go": ["true"]}).against(leg, Part.CONSUMERS)
    assert consumers == ()
