"""Publish the table of an earlier version again, as the next version: nothing is taken out of the list."""

from __future__ import annotations

from anabranch.operations.routes import apply as publishing
from anabranch.operations.routes.desk import RouteDesk
from anabranch.operations.routes.planning import RoutesPlan, RoutesPublished, plan_table
from anabranch.routes.switch import PLAIN_SWITCH, SwitchPolicy


async def plan(desk: RouteDesk, version: int, reason: str, policy: SwitchPolicy = PLAIN_SWITCH) -> RoutesPlan:
    """The plan; raises what `anabranch.operations.routes.apply.plan` raises, and RefusedError for no such version."""
    return await plan_table(desk, (await desk.version(version)).table, reason, policy)


async def apply(desk: RouteDesk, planned: RoutesPlan) -> RoutesPublished:
    """Publish it; raises what `anabranch.operations.routes.apply.apply` raises."""
    return await publishing.apply(desk, planned)
