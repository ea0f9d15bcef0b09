"""Steps that move what groups have committed: translated before the point of no return, committed after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.errors import RefusedError
from anabranch.groups.plan import GroupPlan
from anabranch.groups.undo import UndoRecord, same
from anabranch.kafka import groups as kafka_groups
from anabranch.migration.steps import StepKind, translated_by
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit, GroupState
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import sync
from anabranch.operations.groups.commits import move, new_id, read_groups
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.linking import Result
from anabranch.operations.routes.moving import selected
from anabranch.state.topics.positions import Positions

_WAITS = {ReasonKind.NOT_COPIED, ReasonKind.MOVING, ReasonKind.ACTIVE, ReasonKind.UNAVAILABLE}
"""Reasons that pass by themselves."""


@dataclass(eq=False)
class GroupsBlockedError(RefusedError):
    """Groups of a wave cannot be moved exactly."""

    wave: str
    groups: Mapping[str, str]

    @property
    def message(self) -> str:
        told = "; ".join(f"group {name}: {why}" for name, why in self.groups.items())
        return f"wave {self.wave}: {told}"

    _hint = "see every reason: `anabranch groups plan`"


async def groups_empty(scene: Scene) -> Result:
    """Wait until nobody reads in the wave's groups."""
    found = await kafka_groups.describe(scene.here, scene.wave.groups)
    active = [group for group in found.values() if group.state.is_active]
    if active:
        first = active[0]
        who = ", ".join(f"{member.client_id} at {member.host.lstrip('/')}" for member in first.members[:3])
        raise NotYetError(f"group {first.name} is {first.state.value}{': ' + who if who else ''}")
    return None


async def stage_groups(scene: Scene) -> Result:
    """Translate what the groups have committed of the wave's topics, and write it down."""
    link = translated_by(scene.leg, scene.run.part).link
    prepared = await selected(scene.here, scene.there, link, scene.wave.groups, scene.leg.topics)
    plans = () if prepared is None else prepared[0].groups
    refused = {plan.group: plan for plan in plans if plan.is_blocked}
    if waiting := [plan for plan in refused.values() if {one.why for one in plan.reasons} <= _WAITS]:
        raise NotYetError(f"group {waiting[0].group}: {waiting[0].reasons[0].what}")
    if refused:
        raise GroupsBlockedError(scene.wave.name, {name: plan.reasons[0].what for name, plan in refused.items()})
    return {"groups": {plan.group: _wanted(plan) for plan in plans if plan.moves}}


def _wanted(plan: GroupPlan) -> dict[str, list[Any]]:
    """What is to be committed on the target: offset and metadata, by TOPIC-PARTITION there."""
    return {
        str(one.target): [one.wanted.offset, one.wanted.metadata]
        for one in plan.moves
        if one.target is not None and one.wanted is not None
    }


async def publish_groups(scene: Scene) -> Result:
    """Commit on the target what was staged; what is there already stays.

    Raises NotYetError where a group is in use there, and ClusterError: it is tried again.
    """
    staged: Mapping[str, Mapping[str, Any]] = scene.run.result(StepKind.STAGE_GROUPS, scene.wave.name).get("groups", {})
    wanted = {
        group: {TopicPartition.parse(name): Commit(offset, note) for name, (offset, note) in places.items()}
        for group, places in staged.items()
    }
    there = await read_groups(scene.there, list(wanted))
    at = now_ms()
    undo_id, what = new_id(at), sync.what(scene.leg.link)
    records = []
    for group, commits in wanted.items():
        now, existed = there[group].commits, there[group].state is not GroupState.DEAD
        left = {one: commit for one, commit in commits.items() if not same(now.get(one), commit)}
        if left:
            former = {one: now.get(one) for one in left}
            records.append(UndoRecord(undo_id, group, existed, former, left, at, what))
    failed = await move(scene.there, Positions(scene.there), records)
    if failed:
        group, why = next(iter(failed.items()))
        raise NotYetError(f"group {group}: {why}")
    return {"undo": undo_id} if records else None
