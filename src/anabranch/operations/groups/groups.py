"""Consumer groups of a link as their owners handle them: list, show, mark, plan and sync, undo.

Looking changes nothing; what is carried out is exactly what was shown, or it is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, RefusedError
from anabranch.groups.freshness import Freshness, SyncRound
from anabranch.groups.mark import MarkReport, mark
from anabranch.groups.plan import GroupsPlan, Step, plan
from anabranch.groups.refusals import Refusal, Why, kind_refusal
from anabranch.groups.report import GroupReport, GroupRow, GroupsReport
from anabranch.groups.select import NoSuchGroupError, Selection
from anabranch.groups.undo import UndoPlan, UndoRecord, undo
from anabranch.groups.world import Commits
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.look import list_kinds, look, metadata_limit, read_commits, routes_of
from anabranch.kafka.security import open_cluster
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Group, GroupState
from anabranch.model.link import LinkSpec
from anabranch.operations.groups.groupmoves import carry_out, move, new_id, stands
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


@dataclass(eq=False)
class GroupsMovedError(RefusedError):
    """What a plan saw is no longer so; ``selection`` is what was typed behind the link, to be repeated."""

    link: str
    planned: str
    now: str
    selection: str = ""

    @property
    def message(self) -> str:
        return f"groups of link {self.link!r} changed since plan {self.planned}: it would be plan {self.now} now"

    @property
    def hint(self) -> str:
        return f"look again: `anabranch groups plan {self.link}{self.selection}`"


@dataclass(eq=False)
class NoSuchUndoError(RefusedError):
    """No undo record of that id is stored there."""

    id: str
    cluster: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"cluster {self.cluster} stores no undo record {self.id!r}"

    @property
    def hint(self) -> str:
        return f"the newest are {', '.join(self.known)}" if self.known else "nothing was moved there yet"


@dataclass(eq=False)
class GroupNotMadeError(RefusedError):
    """A cluster took not all of a new subscription, which was taken back."""

    cluster: str
    group: str
    reason: str

    @property
    def message(self) -> str:
        return f"group {self.group!r} was not begun on cluster {self.cluster}: {self.reason}"


def list_groups(source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
    """Every group of the source, how it stands on both sides, and how fresh it is."""
    return asyncio.run(_list(source, target, link_id))


def show(source: ClusterContext, target: ClusterContext, link_id: str, name: str) -> GroupReport:
    """One group in full; raises NoSuchGroupError."""
    return asyncio.run(_show(source, target, link_id, name))


def mark_groups(source: ClusterContext, target: ClusterContext, link_id: str, selection: Selection) -> MarkReport:
    """Store where groups stand, and tell which of them the link would lose records for."""
    return asyncio.run(_mark(source, target, link_id, selection))


def sync(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    selection: Selection,
    execute: bool,
    fingerprint: str | None = None,
) -> GroupsPlan:
    """Plan to move groups to the target; with ``execute`` move those that nothing forbids.

    With a fingerprint raises GroupsMovedError, before anything is done, where the plan is no longer that one.
    """
    return asyncio.run(_sync(source, target, link_id, selection, execute, fingerprint))


def freshness(target: ClusterContext, link_id: str) -> SyncRound | None:
    """The last round of a link's continuous sync, None if none has run."""

    async def ask() -> SyncRound | None:
        async with open_cluster(target) as there:
            return (await _stored(there)).rounds.get(link_id)

    return asyncio.run(ask())


def undo_move(cluster: ClusterContext, undo_id: str, execute: bool) -> UndoPlan:
    """Plan to give groups back what they had; do it with ``execute``, for those that have not moved since."""
    return asyncio.run(_undo(cluster, undo_id, execute))


async def _list(source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
    async with open_cluster(source) as here, open_cluster(target) as there:
        maps = await read_maps(there, link_id, ())
        chosen = filters.load(maps.spec.filter)
        kinds, kinds_there, store = await asyncio.gather(list_kinds(here), list_kinds(there), _stored(there))
        commits, _ = await read_commits(here, [name for name, one in kinds.items() if one.kind.is_movable])
        marks, fresh = store.marks.get(link_id, {}), _fresh(store, maps.spec)
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
                    kinds_there[name].state if name in kinds_there else GroupState.DEAD,
                    inside,
                    len(mine) - inside,
                    marks[name].verdict if name in marks else None,
                    fresh.groups.get(name),
                    "" if advice is None else f"{advice.what}; {advice.fix}",
                )
            )
        return GroupsReport(link_id, tuple(rows), fresh.round, now_ms())


async def _show(source: ClusterContext, target: ClusterContext, link_id: str, name: str) -> GroupReport:
    async with open_cluster(source) as here, open_cluster(target) as there:
        kinds, store, limit, maps = await asyncio.gather(
            list_kinds(here), _stored(there), metadata_limit(there), read_maps(there, link_id, ())
        )
        if name not in kinds:
            raise NoSuchGroupError(name, here.name)
        world = await look(here, there, link_id, [name], kinds, read_maps, still=True, metadata_limit=limit)
        fresh = _fresh(store, maps.spec)
        return GroupReport(
            link_id,
            world.source[name],
            world.target.get(name),
            plan(world, [name]).groups[0],
            store.marks.get(link_id, {}).get(name),
            fresh.groups.get(name),
            fresh.round,
            now_ms(),
        )


async def _mark(source: ClusterContext, target: ClusterContext, link_id: str, selection: Selection) -> MarkReport:
    async with open_cluster(source) as here, open_cluster(target) as there:
        kinds = await list_kinds(here)
        names = selection.names(list(kinds), here.name)
        commits, _ = await read_commits(here, names)
        maps = await read_maps(there, link_id, {at for mine in commits.values() for at in mine})
        chosen = filters.load(maps.spec.filter)
        counted = {name: _counted(commits.get(name, {}), selection) for name in names}
        if not selection.groups:
            counted = {name: mine for name, mine in counted.items() if _touches(mine, chosen)}
        routes = await routes_of(maps, here, there, {at for mine in counted.values() for at in mine})
        at = now_ms()
        marks = [mark(link_id, replace(kinds[name], commits=mine), routes, at) for name, mine in counted.items()]
        if marks:
            await Positions(there).put_marks(marks)
        return MarkReport(link_id, tuple(marks), bool(marks), at)


async def _sync(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    selection: Selection,
    execute: bool,
    fingerprint: str | None,
) -> GroupsPlan:
    begun = time.monotonic()
    async with open_cluster(source) as here, open_cluster(target) as there:
        kinds, limit, maps = await asyncio.gather(
            list_kinds(here), metadata_limit(there), read_maps(there, link_id, ())
        )
        names = selection.names(list(kinds), here.name)
        world = await look(here, there, link_id, names, kinds, read_maps, still=True, metadata_limit=limit)
        if not selection.groups:
            chosen = filters.load(maps.spec.filter)
            names = [
                name
                for name in names
                if any(selection.counts(at.topic) for at in world.pending.get(name, ()))
                or _touches(_counted(world.source[name].commits, selection), chosen)
            ]
        topics = frozenset(
            at.topic for group in world.source.values() for at in group.commits if selection.counts(at.topic)
        )
        found = plan(world, names, topics if selection.topics else None)
        if not execute:
            return replace(found, took_ms=_since(begun))
        if fingerprint is not None and fingerprint != found.fingerprint:
            raise GroupsMovedError(link_id, fingerprint, found.fingerprint)
        return replace(await _carry_out(there, found, world.target), took_ms=_since(begun))


async def _carry_out(there: Cluster, found: GroupsPlan, standing: Mapping[str, Group]) -> GroupsPlan:
    at = now_ms()
    moving = found.of(Step.MOVE)
    undo_id = new_id(at) if moving else ""
    records = [
        UndoRecord(undo_id, one.group, one.group in standing, one.former, one.writes, at, f"groups sync {found.link}")
        for one in moving
    ]
    failed = await move(there, Positions(there), records)
    groups = []
    for one in found.groups:
        if one.step is not Step.MOVE:
            groups.append(one)
        elif one.group in failed:
            groups.append(replace(one, step=Step.FAILED, failure=failed[one.group]))
        else:
            groups.append(replace(one, step=Step.MOVED))
    return replace(found, groups=tuple(groups), executed=True, undo=undo_id)


async def _undo(context: ClusterContext, undo_id: str, execute: bool) -> UndoPlan:
    async with open_cluster(context) as cluster:
        store = await _stored(cluster)
        records = store.undo.get(undo_id)
        if not records:
            raise NoSuchUndoError(undo_id, cluster.name, tuple(sorted(store.undo)[-3:]))
        names = sorted(records)
        now = await stands(cluster, names)
        planned = [undo(records[name], now[name]) for name in names]
        if not execute:
            return UndoPlan(undo_id, tuple(planned))
        done = []
        for one in planned:
            if one.refusals:
                done.append(one)
                continue
            try:
                await carry_out(cluster, one)
            except AnabranchError as error:
                done.append(replace(one, refusals=(Refusal(Why.UNTOLD, error.message, error.hint),)))
                continue
            await store.put_undo([replace(one.record, undone_at_ms=now_ms())])
            done.append(replace(one, done=True))
        return UndoPlan(undo_id, tuple(done), executed=True)


async def _stored(cluster: Cluster) -> Positions:
    store = Positions(cluster)
    await store.sync()
    return store


def _fresh(store: Positions, spec: LinkSpec) -> Freshness:
    """What is filed of continuous sync; where the link follows no groups any more, only that it once did."""
    fresh = store.freshness(spec.id)
    if spec.groups is not None:
        return fresh
    return Freshness(None if fresh.round is None else replace(fresh.round, groups={}, error=""))


def _counted(commits: Commits, selection: Selection) -> Commits:
    return {at: one for at, one in commits.items() if selection.counts(at.topic)}


def _touches(commits: Commits, chosen: filters.TopicFilter) -> bool:
    return bool(filters.select(chosen, {at.topic for at in commits}))


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
