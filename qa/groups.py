"""The operations of groups for code that is not asynchronous, as the demo, benchmarks and most tests are.

Where a verb plans and applies, ``plan_...`` only plans; the verb itself applies the plan that it is given, or what it
has just planned.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.groups.baseline import BaselineReport
from anabranch.groups.create import CreatePlan, GroupCreated
from anabranch.groups.freshness import SyncRound
from anabranch.groups.plan import GroupsMoved, GroupsPlan
from anabranch.groups.report import GroupReport, GroupsReport
from anabranch.groups.select import GroupSelection
from anabranch.groups.undo import GroupsUndone, UndoPlan
from anabranch.kafka.cluster import Cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.start import StartPosition
from anabranch.operations.groups import baseline as marking
from anabranch.operations.groups import create as creating
from anabranch.operations.groups import show as showing
from anabranch.operations.groups import sync as syncing
from anabranch.operations.groups import undo as undoing
from anabranch.operations.groups.inputs import stored
from qa.blocking import between, on


def list_groups(source: ClusterContext, target: ClusterContext, link_id: str) -> GroupsReport:
    """Every group of the source."""
    return between(source, target, lambda here, there: showing.list_groups(here, there, link_id))


def show(source: ClusterContext, target: ClusterContext, link_id: str, name: str) -> GroupReport:
    """One group in full."""
    return between(source, target, lambda here, there: showing.show(here, there, link_id, name))


def freshness(target: ClusterContext, link_id: str) -> SyncRound | None:
    """The last round of a link's continuous sync."""

    async def run(cluster: Cluster) -> SyncRound | None:
        return (await stored(cluster)).rounds.get(link_id)

    return on(target, run)


def baseline(source: ClusterContext, target: ClusterContext, link_id: str, selection: GroupSelection) -> BaselineReport:
    """Store where groups stand."""

    async def run(here: Cluster, there: Cluster) -> BaselineReport:
        return await marking.apply(here, there, await marking.plan(here, there, link_id, selection))

    return between(source, target, run)


def plan_sync(source: ClusterContext, target: ClusterContext, link_id: str, selection: GroupSelection) -> GroupsPlan:
    """What moving groups means."""
    return between(source, target, lambda here, there: syncing.plan(here, there, link_id, selection))


def sync(
    source: ClusterContext,
    target: ClusterContext,
    link_id: str,
    selection: GroupSelection,
    planned: GroupsPlan | None = None,
) -> GroupsMoved:
    """Move groups."""

    async def run(here: Cluster, there: Cluster) -> GroupsMoved:
        seen = planned or await syncing.plan(here, there, link_id, selection)
        return await syncing.apply(here, there, seen)

    return between(source, target, run)


def plan_undo(cluster: ClusterContext, undo_id: str) -> UndoPlan:
    """What giving groups back what they had means."""
    return on(cluster, lambda one: undoing.plan(one, undo_id))


def undo(cluster: ClusterContext, undo_id: str) -> GroupsUndone:
    """Give groups back what they had."""

    async def run(one: Cluster) -> GroupsUndone:
        return await undoing.apply(one, await undoing.plan(one, undo_id))

    return on(cluster, run)


def plan_create(cluster: ClusterContext, group: str, topics: Sequence[str], start: StartPosition) -> CreatePlan:
    """Where a group would begin."""
    return on(cluster, lambda one: creating.plan(one, group, topics, start))


def create(cluster: ClusterContext, group: str, topics: Sequence[str], start: StartPosition) -> GroupCreated:
    """Begin a group; raises GroupNotMadeError."""

    async def run(one: Cluster) -> GroupCreated:
        return await creating.apply(one, await creating.plan(one, group, topics, start))

    return on(cluster, run)
