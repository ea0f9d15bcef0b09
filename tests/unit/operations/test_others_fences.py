"""A fence that is lifted takes away what it has made, and nothing that somebody else has denied since."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.migration.fences import READING
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, begun, finished
from anabranch.migration.spec import FenceKind, Migration, Readers, Wave
from anabranch.migration.steps import MigrationStep, StepKind
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.operations.migrations import fencing
from anabranch.operations.migrations.desk import Scene

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders",), fences=(FenceKind.ACL,))
MIGRATION = Migration("move", "old", "new", (WAVE,))
FENCE = MigrationStep(StepKind.FENCE, "acl", "deny writing")
BACK = MigrationStep(StepKind.PUT_BACK, "fence producers: acl", "put back")
JOURNAL = MigrationStep(StepKind.JOURNAL, "orders", "go on")
NOTED = {"fence producers: acl": {"before": [], "made": [["orders", "User:shop"]]}}


def rule(principal: str, permission: AclPermission) -> Acl:
    """Somebody may write, or may not."""
    return Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, principal, "*", AclOperation.WRITE, permission)


def test_rules_about_groups_are_lifted_apart_from_those_about_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fence takes away its own, as it was written down; what a group was denied by somebody else stays."""
    topic = rule("User:shop", AclPermission.DENY)
    ours, theirs = (
        replace(
            topic, resource_type=ResourceType.GROUP, resource_name="shop", operation=AclOperation.READ, principal=one
        )
        for one in ("User:shop", "User:batch")
    )
    gone: list[set[Acl]] = []

    async def delete(_: object, rules: set[Acl]) -> None:
        gone.append(set(rules))

    async def describe(_: object) -> set[Acl]:
        return {topic, ours, theirs}

    monkeypatch.setattr(fencing, "delete_acls", delete)
    monkeypatch.setattr(fencing, "describe_acls", describe)
    wave = replace(WAVE, groups=("shop",), readers=Readers.DENY, principals=("User:shop", "User:batch"))
    leg, fence = Leg(replace(MIGRATION, waves=(wave,)), wave), MigrationStep(StepKind.FENCE_GROUPS, "acl", "deny")
    here: Any = SimpleNamespace(transport=SimpleNamespace(principal="User:link"))
    desk: Any = None
    results = {"preflight: orders": {READING.denied: [["shop", "User:batch"]]}}
    run = WaveRun("r", "move", "orders", "switch", (fence, JOURNAL), 0, results=results)
    asyncio.run(fencing.lift(Scene(leg, here, here, desk, begun(run), "acl"), READING))
    done = finished(begun(run), 1, {"made": [["shop", "User:shop"]]})
    asyncio.run(fencing.lift(Scene(leg, here, here, desk, done, "acl"), READING))
    asyncio.run(fencing.lift(Scene(leg, here, here, desk, done, "acl")))
    later = replace(run, results={"lift fence of groups: orders": {"denied": [], "made": [["shop", "User:shop"]]}})
    asyncio.run(fencing.open_there(Scene(leg, here, here, desk, later, "orders"), READING))
    asyncio.run(fencing.open_there(Scene(leg, here, here, desk, replace(run, results={}), "orders"), READING))
    assert gone == [{ours}, {ours}, {ours}, set()]


def left_after(run: WaveRun, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Who is denied writing once the fence is lifted; ours denied the shop, and an admin the batch job later on."""
    rules = {rule(name, AclPermission.ALLOW) for name in ("User:shop", "User:batch")}
    rules |= {rule(name, AclPermission.DENY) for name in ("User:shop", "User:batch")}

    async def describe(_: object) -> set[Acl]:
        return rules

    async def delete(_: object, gone: set[Acl]) -> None:
        rules.difference_update(gone)

    monkeypatch.setattr(fencing, "describe_acls", describe)
    monkeypatch.setattr(fencing, "delete_acls", delete)
    here: Any = SimpleNamespace(transport=SimpleNamespace(principal="User:link"))
    desk: Any = None
    asyncio.run(fencing.lift(Scene(Leg(MIGRATION, WAVE), here, here, desk, run, "acl")))
    return {one.principal for one in rules if one.permission is AclPermission.DENY}


def test_what_somebody_denied_since_stays_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days after it was left behind on a lost cluster, and within a switch that is taken back."""
    later = WaveRun("r", "move", "orders", "reconcile", (BACK,), 0, results=NOTED)
    assert left_after(later, monkeypatch) == {"User:batch"}
    within = finished(
        begun(WaveRun("r", "move", "orders", "switch", (FENCE, JOURNAL), 0)), 1, {"made": [["orders", "User:shop"]]}
    )
    assert left_after(within, monkeypatch) == {"User:batch"}


def test_a_fence_that_was_lifted_since_it_was_left_is_not_lifted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a switch that was taken back: nothing is told of it, and all that is denied now is somebody else's."""
    later = WaveRun("r", "move", "orders", "reconcile", (BACK,), 0)
    assert left_after(later, monkeypatch) == {"User:shop", "User:batch"}


def test_a_fence_that_did_not_come_to_write_down_what_it_made_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else writing would stay denied; also where it had begun with what an earlier one had made."""
    begun_run = begun(WaveRun("r", "move", "orders", "switch", (FENCE,), 0, results=NOTED))
    assert left_after(begun_run, monkeypatch) == set()
    later = WaveRun("r", "move", "orders", "reconcile", (BACK,), 0, results={"fence producers: acl": {"before": []}})
    assert left_after(later, monkeypatch) == set()
    older = finished(begun(WaveRun("r", "move", "orders", "switch", (FENCE, JOURNAL), 0)), 1)
    assert left_after(older, monkeypatch) == set(), "a version that wrote nothing down"
    theirs = replace(later, results={"fence producers: acl": {"before": [["orders", "User:batch"]]}})
    assert left_after(theirs, monkeypatch) == {"User:batch"}
