"""The groups of a link's source on both clusters, and how fresh continuous sync is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from anabranch.groups.freshness import Freshness
from anabranch.groups.plan import plan
from anabranch.groups.refusals import kind_refusal
from anabranch.groups.report import GroupReport, GroupRow, GroupsReport
from anabranch.groups.select import NoSuchGroupError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import list_kinds, metadata_limit, read_commits, take_snapshot
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.groups import GroupState
from anabranch.model.link import LinkSpec
from anabranch.operations.groups.inputs import stored
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


async def list_groups(source: Cluster, target: Cluster, link_id: str) -> GroupsReport:
    """Every group of the source, its state on both clusters, and how fresh its sync is."""
    maps = await read_maps(target, link_id, ())
    chosen = filters.load(maps.spec.filter)
    kinds, target_kinds, store = await asyncio.gather(list_kinds(source), list_kinds(target), stored(target))
    commits, _ = await read_commits(source, [name for name, one in kinds.items() if one.kind.is_movable])
    baselines, fresh = store.baselines.get(link_id, {}), _fresh(store, maps.spec)
    rows = []
    for name, group in sorted(kinds.items()):
        mine = commits.get(name, {})
        inside = sum(bool(filters.select(chosen, [at.topic])) for at in mine)
        advice = kind_refusal(group, "source")
        rows.append(
            GroupRow(
                name,
                group.kind,
                group.state,
                target_kinds[name].state if name in target_kinds else GroupState.DEAD,
                inside,
                len(mine) - inside,
                baselines[name].coverage if name in baselines else None,
                fresh.groups.get(name),
                "" if advice is None else f"{advice.what}; {advice.fix}",
            )
        )
    return GroupsReport(link_id, tuple(rows), fresh.round, now_ms())


async def show(source: Cluster, target: Cluster, link_id: str, name: str) -> GroupReport:
    """One group in full; raises NoSuchGroupError."""
    kinds, store, limit, maps = await asyncio.gather(
        list_kinds(source), stored(target), metadata_limit(target), read_maps(target, link_id, ())
    )
    if name not in kinds:
        raise NoSuchGroupError(name, source.name)
    snapshot = await take_snapshot(source, target, link_id, [name], kinds, read_maps, still=True, metadata_limit=limit)
    fresh = _fresh(store, maps.spec)
    return GroupReport(
        link_id,
        snapshot.source[name],
        snapshot.target.get(name),
        plan(snapshot, [name]).groups[0],
        store.baselines.get(link_id, {}).get(name),
        fresh.groups.get(name),
        fresh.round,
        now_ms(),
    )


def _fresh(store: Positions, spec: LinkSpec) -> Freshness:
    """What is persisted of continuous sync; only its last round if the link syncs no groups any more."""
    fresh = store.freshness(spec.id)
    if spec.groups is not None:
        return fresh
    return Freshness(None if fresh.round is None else replace(fresh.round, groups={}, error=""))
