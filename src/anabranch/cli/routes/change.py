"""``anabranch route apply`` and ``anabranch route rollback``: another route table, with whom it moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.applying import PlannedChange, apply_change, check_flags
from anabranch.cli.completing import route_versions
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.routes import render_change
from anabranch.cli.routes.options import (
    AtOnceOption,
    StragglersOption,
    TimeoutOption,
    WhenLostOption,
    policy_fields,
    repeated_policy,
)
from anabranch.cli.running import run
from anabranch.cli.service_operation import carried_out
from anabranch.cli.service_options import ReasonOption, ServiceOption, repeated_service, service_of
from anabranch.config import routes_file
from anabranch.model.plans import REQUEST
from anabranch.model.routing import Stragglers, WhenLost
from anabranch.routes.switch import DEADLINE_MS, SwitchPolicy
from anabranch.routes.table import RouteTable

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """A plan as the service answers it; ``before`` and ``after`` are the tables of which it is the difference."""

    id: str
    hash: str
    plan: Mapping[str, Any]
    before: RouteTable = field(metadata=REQUEST)
    after: RouteTable = field(metadata=REQUEST)


def apply(
    ctx: typer.Context,
    file: Annotated[Path, typer.Option("--file", "-f", help="Routes file (YAML), whole.", show_default=False)],
    reason: ReasonOption,
    stragglers: StragglersOption = Stragglers.CANCEL,
    when_lost: WhenLostOption = WhenLost.WAIT,
    timeout: TimeoutOption = DEADLINE_MS // 1000,
    at_once: AtOnceOption = False,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Publish a routes file as the next version of the route table.

    Shows what the file adds, removes and changes, and which registered clients move from where to where; clients that
    would be refused, and groups that would be split, forbid it. Clients that move are moved while they run: they
    pause, what they wrote is copied, their groups are moved, then the table is published and they go on. See
    docs/reference/routes.md.
    """
    policy = SwitchPolicy(stragglers, when_lost, timeout * 1000, at_once)
    command = f"anabranch route apply -f {quoted(str(file))} --reason {quoted(reason)}"
    command += repeated_policy(policy) + repeated_service(service)
    check_flags(command, execute, plan)
    table = routes_file.load(file)
    request = {"table": routes_file.table_fields(table), "reason": reason, **policy_fields(policy)}
    client = service_of(ctx, service)

    async def planned() -> ServicePlan:
        return await _planned(client, "apply", request, lambda: table)

    run(_change(client, command, planned, execute, plan, output))


def rollback(
    ctx: typer.Context,
    number: Annotated[
        int,
        typer.Argument(
            metavar="VERSION",
            min=1,
            help="The version that applies again.",
            autocompletion=route_versions,
            show_default=False,
        ),
    ],
    reason: ReasonOption,
    stragglers: StragglersOption = Stragglers.CANCEL,
    when_lost: WhenLostOption = WhenLost.WAIT,
    timeout: TimeoutOption = DEADLINE_MS // 1000,
    at_once: AtOnceOption = False,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Publish the table of an earlier version again, as the next version; shows what `route apply` shows."""
    policy = SwitchPolicy(stragglers, when_lost, timeout * 1000, at_once)
    command = f"anabranch route rollback {number} --reason {quoted(reason)}"
    command += repeated_policy(policy) + repeated_service(service)
    check_flags(command, execute, plan)
    client = service_of(ctx, service)

    async def planned() -> ServicePlan:
        request = {"version": number, "reason": reason, **policy_fields(policy)}
        return await _planned(client, "rollback", request, lambda: _table(client, number))

    run(_change(client, command, planned, execute, plan, output))


async def _planned(
    client: ServiceClient, verb: str, request: Mapping[str, Any], table: Callable[[], RouteTable]
) -> ServicePlan:
    def look() -> ServicePlan:
        answer = client.post(f"/routes/{verb}/plan", request)
        before = _table(client, answer["plan"]["base"])
        return ServicePlan(answer["id"], answer["hash"], answer["plan"], before, table())

    return await asyncio.to_thread(look)


def _table(client: ServiceClient, version: int) -> RouteTable:
    """The table of a version; before the first one there is an empty one."""
    if not version:
        return RouteTable()
    answer = client.get(f"/routes/versions/{version}")
    return routes_file.table_of(answer["table"], f"version {version}")


def _look(plan: ServicePlan) -> str:
    """The command that says how a change goes: of one that moves nobody nothing but the version is there."""
    return "anabranch route switches" if plan.plan["switch"] else "anabranch route versions"


async def _change(
    client: ServiceClient,
    command: str,
    planned: Callable[[], Awaitable[ServicePlan]],
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    change: PlannedChange[ServicePlan, Any] = PlannedChange(
        command=command,
        what="the route table",
        plan=planned,
        apply=lambda plan: carried_out(client, plan.id, plan.hash, _look(plan)),
        table=lambda plan: render_change.plan(plan.before, plan.after, plan.plan),
        done_table=render_change.done,
        empty=lambda plan: plan.before == plan.after,
    )
    await apply_change(change, execute=execute, wanted=wanted, output=output)
