"""A change that the service plans and carries out: the plan is shown, and applied where that was typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.output import Format
from anabranch.cli.running import run
from anabranch.cli.service_operation import carried_out

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient


@dataclass(frozen=True, slots=True)
class ServiceChange:
    """A plan as the service answers it."""

    id: str
    hash: str
    plan: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ServiceVerb:
    """A verb as it was typed: ``path`` is where it is planned, ``look`` the command that shows what came of it.

    ``plan_s`` is how long its plan may take, None for as long as any answer.
    """

    path: str
    request: Mapping[str, Any] = field(hash=False)
    command: str
    what: str
    look: str
    plan_s: float | None = None


def change_by_service(
    client: ServiceClient,
    verb: ServiceVerb,
    table: Callable[[ServiceChange], RenderableType],
    done: Callable[[Any], RenderableType],
    output: Format,
    *,
    execute: bool = True,
    wanted: str | None = None,
) -> Any:
    """Have the service plan a verb, and apply it; returns what came of it, None where it was only shown."""
    planner = client if verb.plan_s is None else replace(client, timeout_s=verb.plan_s)

    async def planned() -> ServiceChange:
        answer = await asyncio.to_thread(planner.post, f"{verb.path}/plan", verb.request)
        return ServiceChange(answer["id"], answer["hash"], answer["plan"])

    made: PlannedChange[ServiceChange, Any] = PlannedChange(
        command=verb.command,
        what=verb.what,
        plan=planned,
        apply=lambda plan: carried_out(client, plan.id, plan.hash, verb.look),
        table=table,
        done_table=done,
    )
    return run(apply_change(made, execute=execute, wanted=wanted, output=output))
