"""Give a switch up: every client goes on where it was, as long as the new table is not published."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.routes.desk import SwitchDesk
from anabranch.routes.switch import SwitchState


@dataclass(frozen=True, slots=True)
class CancelSwitchPlan:
    """A switch that would be given up: of its ``clients`` some have ``paused``; ``groups`` are taken back if moved.

    The hash covers the switch alone: how far it comes until its table is published changes nothing of what is done.
    """

    switch: str
    version: int
    state: SwitchState
    clients: int
    paused: int
    groups: tuple[str, ...]
    reason: str
    hash: str


@dataclass(frozen=True, slots=True)
class CancelledSwitch:
    """A switch that was given up, and ``why``: who did it, and for which reason."""

    switch: str
    state: SwitchState
    why: str


async def plan(desk: SwitchDesk, switch: str, reason: str) -> CancelSwitchPlan:
    """The plan; raises RefusedError for a switch that has ended, or cannot be given up any more."""
    found = await desk.open_switch(switch)
    return CancelSwitchPlan(
        switch,
        found.version,
        found.state,
        len(found.named),
        len(found.ready),
        tuple(sorted(found.groups)),
        reason,
        plan_hash("routes.cancel", switch, found.version),
    )


async def apply(desk: SwitchDesk, planned: CancelSwitchPlan) -> CancelledSwitch:
    """Give it up, and wait until its clients are told; raises what ``plan`` raises, PlanChangedError."""
    check_holds(f"switch {planned.switch}", planned, await plan(desk, planned.switch, planned.reason))
    ended = await desk.give_up(planned.switch, planned.reason)
    return CancelledSwitch(ended.id, ended.state, ended.why)
