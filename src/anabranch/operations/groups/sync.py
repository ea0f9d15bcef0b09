"""Move groups to the target: plan it group by group, and apply exactly that plan."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace

from anabranch.groups.plan import GroupsMoved, GroupsPlan, GroupStep
from anabranch.groups.plan import plan as build_plan
from anabranch.groups.select import EVERY, GroupSelection
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import ReadMaps, list_kinds, metadata_limit, take_snapshot
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.groups import Group
from anabranch.model.plans import check_holds
from anabranch.operations.groups.commits import move, new_id
from anabranch.operations.groups.inputs import counted, touches
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


async def plan(source: Cluster, target: Cluster, link_id: str, selection: GroupSelection = EVERY) -> GroupsPlan:
    """The plan that moves groups to the target; raises UnknownLinkError, NoSuchGroupError."""
    begun = time.monotonic()
    found, _ = await prepare(source, target, link_id, selection)
    return replace(found, took_ms=_since(begun))


async def apply(source: Cluster, target: Cluster, planned: GroupsPlan) -> GroupsMoved:
    """Move the groups that are not refused; raises PlanChangedError if the plan has changed."""
    begun = time.monotonic()
    now, target_groups = await prepare(source, target, planned.link, planned.selection)
    check_holds(f"groups of link {planned.link!r}", planned, now, _command(planned))
    moved = await carry_out(target, now, target_groups)
    return replace(moved, took_ms=_since(begun))


def what(link_id: str) -> str:
    """What the undo records of a link's moves say that they are of."""
    return f"groups sync {link_id}"


async def prepare(
    source: Cluster,
    target: Cluster,
    link_id: str,
    selection: GroupSelection,
    settle_s: float | None = None,
    read: ReadMaps = read_maps,
) -> tuple[GroupsPlan, Mapping[str, Group]]:
    """The plan, and its groups on the target; raises what ``plan`` raises.

    ``settle_s`` is for how long a group must be seen to commit nothing, by default ``snapshot.SETTLE_S``.  ``read``
    reads the link's maps.
    """
    kinds, limit, maps = await asyncio.gather(list_kinds(source), metadata_limit(target), read(target, link_id, ()))
    names = selection.names(list(kinds), source.name)
    snapshot = await take_snapshot(
        source, target, link_id, names, kinds, read, still=True, metadata_limit=limit, settle_s=settle_s
    )
    if not selection.groups:
        chosen = filters.load(maps.spec.filter)
        names = [
            name
            for name in names
            if any(selection.counts(at.topic) for at in snapshot.pending.get(name, ()))
            or touches(counted(snapshot.source[name].commits, selection), chosen)
        ]
    topics = frozenset(
        at.topic for group in snapshot.source.values() for at in group.commits if selection.counts(at.topic)
    )
    found = build_plan(snapshot, names, topics if selection.topics else None)
    return replace(found, selection=selection), snapshot.target


async def carry_out(target: Cluster, found: GroupsPlan, target_groups: Mapping[str, Group]) -> GroupsMoved:
    """Move the groups of a plan that was prepared just now; ``apply`` is for one that a person has looked at."""
    at = now_ms()
    moving = found.of(GroupStep.MOVE)
    undo_id = new_id(at) if moving else ""
    records = [
        UndoRecord(
            undo_id,
            group.group,
            group.group in target_groups,
            group.former,
            group.writes,
            at,
            what(found.link),
        )
        for group in moving
    ]
    failed = await move(target, Positions(target), records)
    groups = []
    for group in found.groups:
        if group.step is not GroupStep.MOVE:
            groups.append(group)
        elif group.group in failed:
            groups.append(replace(group, step=GroupStep.FAILED, failure=failed[group.group]))
        else:
            groups.append(replace(group, step=GroupStep.MOVED))
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
