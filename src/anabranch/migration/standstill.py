"""Why a wave's link does not copy all that it should, in words."""

from __future__ import annotations

from anabranch.model.counted import counted
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reasons import errors
from anabranch.model.reports import LinkStatus


def why_not_copied(status: LinkStatus, *, may_pause: bool) -> str:
    """Why a link does not copy all that it should, in a sentence; empty where it does.

    The most urgent reason alone: ``link show`` has them all.  ``may_pause``: what is under way pauses links.
    """
    stopped = _in_state(status, LaneState.STOPPED)
    if stopped:
        why = stopped[0].stop_reason or "it does not say why"
        return f"{counted(len(stopped), 'lane')} of {len(status.lanes):,} stopped; {stopped[0].source}: {why}"
    planned = () if status.plan is None else status.plan.findings
    if found := errors([*status.findings, *planned]):
        return found[0].what
    if status.wanted.paused:
        return "" if may_pause else "it is paused"
    if not status.running:
        return "no run of it goes on"
    if silent := _in_state(status, LaneState.UNREACHABLE):
        return f"{status.spec.source.context} does not answer for {counted(len(silent), 'lane')}"
    return ""


def _in_state(status: LinkStatus, state: LaneState) -> list[LaneProgress]:
    return sorted((lane for lane in status.lanes if lane.state is state), key=lambda lane: str(lane.source))
