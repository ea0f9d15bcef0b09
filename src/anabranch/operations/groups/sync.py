"""Moving groups to the target: what it means, group by group, and doing exactly that."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace

from anabranch.groups.plan import GroupsMoved, GroupsPlan, Step
from anabranch.groups.plan import plan as planned_of
from anabranch.groups.select import EVERY, Selection
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import list_kinds, metadata_limit, take_snapshot
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.groups import Group
from anabranch.model.plans import check_holds
from anabranch.operations.groups.groupmoves import move, new_id
from anabranch.operations.groups.looking import counted, touches
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


async def plan(source: Cluster, target: Cluster, link_id: str, selection: Selection = EVERY) -> GroupsPlan:
    """What moving groups to the target means; raises UnknownLinkError, NoSuchGroupError."""
    begun = time.monotonic()
    found, _ = await _look(source, target, link_id, selection)
    return replace(found, took_ms=_since(begun))


async def apply(source: Cluster, target: Cluster, planned: GroupsPlan) -> GroupsMoved:
    """Move the groups that nothing forbids; raises PlanChangedError where the plan is another one by now."""
    begun = time.monotonic()
    found, standing = await _look(source, target, planned.link, planned.selection)
    check_holds(f"groups of link {planned.link!r}", planned, found, _command(planned))
    moved = await _carry_out(target, found, standing)
    return replace(moved, took_ms=_since(begun))


async def _look(
    source: Cluster, target: Cluster, link_id: str, selection: Selection
) -> tuple[GroupsPlan, Mapping[str, Group]]:
    """The plan, and how its groups stand on the target."""
    kinds, limit, maps = await asyncio.gather(
        list_kinds(source), metadata_limit(target), read_maps(target, link_id, ())
    )
    names = selection.names(list(kinds), source.name)
    world = await take_snapshot(source, target, link_id, names, kinds, read_maps, still=True, metadata_limit=limit)
    if not selection.groups:
        chosen = filters.load(maps.spec.filter)
        names = [
            name
            for name in names
            if any(selection.counts(at.topic) for at in world.pending.get(name, ()))
            or touches(counted(world.source[name].commits, selection), chosen)
        ]
    topics = frozenset(
        at.topic for group in world.source.values() for at in group.commits if selection.counts(at.topic)
    )
    found = planned_of(world, names, topics if selection.topics else None)
    return replace(found, selection=selection), world.target


async def _carry_out(target: Cluster, found: GroupsPlan, standing: Mapping[str, Group]) -> GroupsMoved:
    at = now_ms()
    moving = found.of(Step.MOVE)
    undo_id = new_id(at) if moving else ""
    records = [
        UndoRecord(undo_id, one.group, one.group in standing, one.former, one.writes, at, f"groups sync {found.link}")
        for one in moving
    ]
    failed = await move(target, Positions(target), records)
    groups = []
    for one in found.groups:
        if one.step is not Step.MOVE:
            groups.append(one)
        elif one.group in failed:
            groups.append(replace(one, step=Step.FAILED, failure=failed[one.group]))
        else:
            groups.append(replace(one, step=Step.MOVED))
    return GroupsMoved(found.link, tuple(groups), found.hash, undo_id, left_out=found.left_out)


def _command(planned: GroupsPlan) -> str:
    """The command that shows the plan of the same groups."""
    chosen = planned.selection
    words = [*chosen.groups]
    for option in ("exclude", "topics"):
        for pattern in getattr(chosen, option):
            words += [f"--{option}", pattern]
    return shlex.join(["anabranch", "groups", "plan", planned.link, *words])


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
