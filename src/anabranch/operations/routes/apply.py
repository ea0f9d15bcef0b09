"""Publish a route table: plan it with whom it moves, and apply exactly that plan."""

from __future__ import annotations

from anabranch.model.plans import check_holds
from anabranch.operations.routes.desk import RouteDesk, SwitchOrder
from anabranch.operations.routes.planning import RoutesPlan, RoutesPublished, plan_table
from anabranch.routes.switch import PLAIN_SWITCH, SwitchPolicy
from anabranch.routes.table import RouteTable, may_move


async def plan(desk: RouteDesk, table: RouteTable, reason: str, policy: SwitchPolicy = PLAIN_SWITCH) -> RoutesPlan:
    """The plan that publishes a table; raises InvalidTableError, ForbiddenImpactError, NoLinkError, ClusterError."""
    return await plan_table(desk, table, reason, policy)


async def apply(desk: RouteDesk, planned: RoutesPlan) -> RoutesPublished:
    """Publish it, and move live clients by a switch; a table that applies already is not published again.

    A table that could move somebody, or have them go on with other topics, is published by a switch also where nobody
    is known who moves: a client that registers meanwhile is held until it is published, or moved like the others.

    Raises PlanChangedError if the plan has changed, SwitchCancelledError, RefusedError where another table was
    published meanwhile.
    """
    now = await plan_table(desk, planned.table, planned.reason, planned.policy)
    check_holds("the route table", planned, now)
    newest = await desk.newest()
    if newest is not None and now.changes_nothing:
        return RoutesPublished(newest.version, newest.at_ms, newest.author, 0, {}, now.hash)
    if newest is not None and not now.policy.at_once and may_move(newest.table, now.table):
        links = {(one.before, one.after): one.link for one in now.switch}
        switched = await desk.switch(SwitchOrder(now.table, now.base, now.reason, now.policy, links))
        made, switch, doubts = switched.version, switched.switch, switched.doubts
    else:
        made, switch, doubts = await desk.publish(now.table, now.base, now.reason), "", ()
    moved = len(now.impact.moves), now.impact.groups
    return RoutesPublished(made.version, made.at_ms, made.author, *moved, now.hash, switch, doubts)
