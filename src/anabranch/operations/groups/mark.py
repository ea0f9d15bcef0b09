"""Marking groups: where they stand now, and which of them the link would lose records for."""

from __future__ import annotations

from dataclasses import astuple, replace

from anabranch.groups.mark import MarkPlan, MarkReport, mark
from anabranch.groups.select import EVERY, Selection
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import list_kinds, read_commits, routes_of
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.groups.looking import counted, touches
from anabranch.state.codecs.specs import spec_fields
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


async def plan(source: Cluster, target: Cluster, link_id: str, selection: Selection = EVERY) -> MarkPlan:
    """The marks as they would be stored now; raises UnknownLinkError, NoSuchGroupError."""
    kinds = await list_kinds(source)
    names = selection.names(list(kinds), source.name)
    commits, _ = await read_commits(source, names)
    maps = await read_maps(target, link_id, {at for mine in commits.values() for at in mine})
    meant = {name: counted(commits.get(name, {}), selection) for name in names}
    if not selection.groups:
        chosen = filters.load(maps.spec.filter)
        meant = {name: mine for name, mine in meant.items() if touches(mine, chosen)}
    routes = await routes_of(maps, source, target, {at for mine in meant.values() for at in mine})
    at = now_ms()
    marks = [mark(link_id, replace(kinds[name], commits=mine), routes, at) for name, mine in meant.items()]
    hash_ = plan_hash(link_id, spec_fields(maps.spec)["filter"], astuple(selection))
    return MarkPlan(link_id, tuple(marks), hash_, selection)


async def apply(source: Cluster, target: Cluster, planned: MarkPlan) -> MarkReport:
    """Look once more and store what is found; raises PlanChangedError where other topics are copied by now."""
    now = await plan(source, target, planned.link, planned.selection)
    check_holds(f"the filter of link {planned.link!r}", planned, now, f"anabranch link show {planned.link}")
    if now.marks:
        await Positions(target).put_marks(now.marks)
    return MarkReport(planned.link, now.marks, bool(now.marks), now_ms())
