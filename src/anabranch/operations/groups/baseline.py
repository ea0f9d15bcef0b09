"""Take baselines: what groups have committed, and which of them would lose records by the link."""

from __future__ import annotations

from dataclasses import astuple, replace

from anabranch.groups.baseline import BaselinePlan, BaselineReport, baseline
from anabranch.groups.select import EVERY, GroupSelection
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups.snapshot import list_kinds, mappings_of, read_commits
from anabranch.model import filters
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.groups.inputs import counted, touches
from anabranch.state.codecs.specs import spec_fields
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.positions import Positions


async def plan(source: Cluster, target: Cluster, link_id: str, selection: GroupSelection = EVERY) -> BaselinePlan:
    """The baselines as they would be stored now; raises UnknownLinkError, NoSuchGroupError."""
    kinds = await list_kinds(source)
    names = selection.names(list(kinds), source.name)
    commits, _ = await read_commits(source, names)
    maps = await read_maps(target, link_id, {at for mine in commits.values() for at in mine})
    meant = {name: counted(commits.get(name, {}), selection) for name in names}
    if not selection.groups:
        chosen = filters.load(maps.spec.filter)
        meant = {name: mine for name, mine in meant.items() if touches(mine, chosen)}
    mappings = await mappings_of(maps, source, target, {at for mine in meant.values() for at in mine})
    at = now_ms()
    baselines = [baseline(link_id, replace(kinds[name], commits=mine), mappings, at) for name, mine in meant.items()]
    hash_ = plan_hash(link_id, spec_fields(maps.spec)["filter"], astuple(selection))
    return BaselinePlan(link_id, tuple(baselines), hash_, selection)


async def apply(source: Cluster, target: Cluster, planned: BaselinePlan) -> BaselineReport:
    """Take the baselines again and store them; raises PlanChangedError if the link copies other topics by now."""
    now = await plan(source, target, planned.link, planned.selection)
    check_holds(f"the filter of link {planned.link!r}", planned, now, f"anabranch link show {planned.link}")
    if now.baselines:
        await Positions(target).put_baselines(now.baselines)
    return BaselineReport(planned.link, now.baselines, bool(now.baselines), now_ms())
