"""Steps that move what groups have committed: translated before the point of no return, committed after it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import RefusedError
from anabranch.groups.plan import GroupPlan
from anabranch.groups.snapshot import Commits
from anabranch.groups.undo import UndoRecord, same
from anabranch.kafka import groups as kafka_groups
from anabranch.migration.legs import Leg
from anabranch.migration.steps import Part, StepKind, translated_by
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit, GroupState
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import sync
from anabranch.operations.groups.commits import move, new_id, read_groups
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.routes.moving import selected
from anabranch.state.topics.positions import Positions

_READ = "read"
_WAITS = {ReasonKind.NOT_COPIED, ReasonKind.MOVING, ReasonKind.ACTIVE, ReasonKind.UNAVAILABLE}
"""Reasons that pass by themselves."""


@dataclass(eq=False)
class GroupsBlockedError(RefusedError):
    """Groups of a wave cannot be moved exactly; ``command`` shows all reasons of each."""

    wave: str
    groups: Mapping[str, str]
    command: str

    @property
    def message(self) -> str:
        told = "; ".join(f"group {name}: {why}" for name, why in self.groups.items())
        return f"wave {self.wave}: {told}"

    _hint = "see every reason: `{command}`"


@dataclass(eq=False)
class ReadMeanwhileError(RefusedError):
    """Somebody read on in a group after its commits had been translated."""

    wave: str
    what: str

    _message = "wave {wave}: {what}, after what it had committed was translated"
    _hint = "keep its consumers stopped, then switch again"


async def groups_empty(scene: Scene) -> Result:
    """Wait until nobody reads in the wave's groups."""
    if active := await _active(scene):
        raise NotYetError(active)
    return None


async def _active(scene: Scene) -> str:
    """Who reads in one of the wave's groups, empty where nobody does."""
    found = await kafka_groups.describe(scene.here, scene.wave.groups)
    first = next((group for group in found.values() if group.state.is_active), None)
    if first is None:
        return ""
    who = ", ".join(f"{member.client_id} at {member.host.lstrip('/')}" for member in first.members[:3])
    return f"group {first.name} is {first.state.value}{': ' + who if who else ''}"


async def stage_groups(scene: Scene) -> Result:
    """Translate what the groups have committed of the wave's topics, and write it down."""
    link = translated_by(scene.leg, scene.run.part).link
    prepared = await selected(scene.here, scene.there, link, scene.wave.groups, scene.leg.topics)
    plans = () if prepared is None else prepared[0].groups
    refused = {plan.group: plan for plan in plans if plan.is_blocked}
    if waiting := [plan for plan in refused.values() if {one.why for one in plan.reasons} <= _WAITS]:
        raise NotYetError(f"group {waiting[0].group}: {waiting[0].reasons[0].what}")
    if refused:
        whys = {name: plan.reasons[0].what for name, plan in refused.items()}
        raise GroupsBlockedError(scene.wave.name, whys, _shows(scene.leg, scene.run.part, scene.run.what, whys))
    found = {plan.group: _wanted(plan) for plan in plans if plan.moves}
    return {"groups": found, "undo": new_id(now_ms()), _READ: {plan.group: _read(plan) for plan in plans}}


def _read(plan: GroupPlan) -> dict[str, int]:
    """What was translated, by TOPIC-PARTITION of the cluster that is left."""
    return {str(one.source): one.commit.offset for one in plan.moves}


async def refuse_read(scene: Scene) -> None:
    """Raise ReadMeanwhileError where somebody reads in the wave's groups again, or did since they were translated."""
    staged = scene.run.result(StepKind.STAGE_GROUPS, scene.wave.name)
    if _READ not in staged:  # nothing was, or by a version that did not write it down
        return
    if active := await _active(scene):
        raise ReadMeanwhileError(scene.wave.name, active)
    for group, commits in (await kafka_groups.committed(scene.here, scene.wave.groups)).items():
        then: Mapping[str, int] = staged[_READ].get(group, {})
        for at, commit in sorted(commits.items()):
            if at.topic in scene.leg.topics and commit.offset != then.get(str(at)):
                before = f"{then[str(at)]:,}" if str(at) in then else "nothing"
                what = f"group {group} has committed {commit.offset:,} of {at}, where it had committed {before}"
                raise ReadMeanwhileError(scene.wave.name, what)


def _shows(leg: Leg, part: Part, verb: str, groups: Iterable[str]) -> str:
    """The command that shows what of groups cannot be translated: a plan of them by the link that leads the same way.

    Where it is the way back that translates them, no link leads so, and the wave's own plan is what shows them.
    """
    if translated_by(leg, part) != leg:
        return shlex.join(["anabranch", "migrate", verb, leg.migration.name, "--wave", leg.wave.name])
    return shlex.join(["anabranch", "groups", "plan", leg.link, *map(re.escape, sorted(groups)), "--target", leg.there])


def _wanted(plan: GroupPlan) -> dict[str, list[Any]]:
    """What is to be committed on the target: offset and metadata, by TOPIC-PARTITION there."""
    return {
        str(one.target): [one.wanted.offset, one.wanted.metadata]
        for one in plan.moves
        if one.target is not None and one.wanted is not None
    }


async def publish_groups(scene: Scene) -> Result:
    """Commit on the target what was staged; what is there already stays.

    Its undo record has an id that was staged, so that whoever does it again finds what was there before.  A commit that
    is past what is wanted stays then: whoever was killed had written it, and the group has gone on since.  Raises
    NotYetError where a group is in use there, and ClusterError: it is tried again.
    """
    groups: dict[str, Mapping[str, Any]] = {}
    undo_id = ""
    for step in scene.run.steps:
        if step.kind in (StepKind.STAGE_GROUPS, StepKind.LOST_GROUPS):
            staged = scene.run.result(step.kind, step.subject)
            groups |= staged.get("groups", {})
            undo_id = undo_id or str(staged.get("undo", ""))
    wanted = {
        group: {TopicPartition.parse(name): Commit(offset, note) for name, (offset, note) in places.items()}
        for group, places in groups.items()
    }
    there, store, at = await read_groups(scene.there, list(wanted)), Positions(scene.there), now_ms()
    await store.sync()
    undo_id, what = undo_id or new_id(at), sync.what(scene.leg.link)
    known = {name: one for name, one in store.undo.get(undo_id, {}).items() if one.undone_at_ms is None}
    records = []
    for group, commits in wanted.items():
        made = UndoRecord(undo_id, group, there[group].state is not GroupState.DEAD, {}, commits, at, what)
        if (record := _left(made, there[group].commits, known.get(group))) is not None:
            records.append(record)
    failed = await move(scene.there, store, records)
    if failed:
        group, why = next(iter(failed.items()))
        raise NotYetError(f"group {group}: {why}")
    return {"undo": undo_id} if records or known else None


def _left(made: UndoRecord, now: Commits, known: UndoRecord | None) -> UndoRecord | None:
    """What is still to be committed for a group; ``known`` is what was recorded before it was begun."""
    if known is None:
        left = {one: commit for one, commit in made.wrote.items() if not same(now.get(one), commit)}
        former = {one: now.get(one) for one in left}
        return replace(made, former=former, wrote=left) if left else None
    wrote = {one: _further(now.get(one), commit) for one, commit in known.wrote.items()}
    if all(same(now.get(one), commit) for one, commit in wrote.items()):
        return None
    return replace(known, wrote=wrote)


def _further(now: Commit | None, wanted: Commit) -> Commit:
    return now if now is not None and now.offset > wanted.offset else wanted
