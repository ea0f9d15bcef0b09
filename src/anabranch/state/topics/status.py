"""A link as the control topics that were read tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.model import tombstones
from anabranch.model.filters import excluded
from anabranch.model.lane import LaneProgress
from anabranch.model.link import LinkSpec
from anabranch.model.reports import LinkPlan, LinkStatus
from anabranch.state.topics.control import Links, Progress


def status_of(links: Links, progress: Progress, link: str, read_at_ms: int) -> LinkStatus:
    """A link that is among ``links``, with its lanes as they stand at ``read_at_ms``.

    A lane that was begun, and whose topic the link leaves out on purpose now, is none of them: no worker takes it.
    Of a link that does not run nobody plans any more, so what its standstill may cost is found here.
    """
    record, plan = links.links[link], progress.plans.get(link)
    lanes = sorted(links.standing(link, progress.lanes.of(link)), key=lambda lane: lane.source)
    left_out = _left_out(record.wanted.spec, plan, lanes)
    status = LinkStatus(
        record,
        tuple(lane for lane in lanes if lane.source.topic not in left_out),
        plan,
        read_at_ms,
        left_out=tuple(lane.source for lane in lanes if lane.source.topic in left_out),
    )
    if not status.running:
        retentions = tombstones.retentions_ms(links.topics_of(link))
        outlived = tombstones.followed({} if plan is None else plan.outlived, status.lanes, retentions, read_at_ms)
        found = tombstones.findings(link, outlived, status.lanes, retentions)
        told = () if plan is None else plan.findings  # by a run that was killed
        status = replace(status, findings=tuple(one for one in found if one not in told))
    return status.as_read()


def _left_out(spec: LinkSpec, plan: LinkPlan | None, lanes: Sequence[LaneProgress]) -> frozenset[str]:
    """The topics of lanes that the filter of now does not select, or that the last plan left out on purpose."""
    found = excluded(spec.filter, {lane.source.topic for lane in lanes})
    return found if plan is None else found.union(plan.left_out)
