"""The one way of the catalog's verbs: the service plans, the plan is shown, and is applied with ``--execute``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.output import Format
from anabranch.cli.running import run
from anabranch.cli.service_operation import carried_out

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient


@dataclass(frozen=True, slots=True)
class CatalogPlan:
    """A plan as the service answers it."""

    id: str
    hash: str
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogVerb:
    """A verb as it was typed: ``look`` is the command that shows what came of it."""

    name: str
    request: Mapping[str, Any]
    command: str
    what: str
    look: str
    table: Callable[[Mapping[str, Any]], RenderableType]
    done: Callable[[Mapping[str, Any]], RenderableType]


def change(client: ServiceClient, verb: CatalogVerb, *, execute: bool, wanted: str | None, output: Format) -> None:
    """Plan it, show the plan, and apply it where that was typed."""

    async def planned() -> CatalogPlan:
        answer = await asyncio.to_thread(client.post, f"/catalog/{verb.name}/plan", verb.request)
        return CatalogPlan(answer["id"], answer["hash"], answer["plan"])

    made: PlannedChange[CatalogPlan, Any] = PlannedChange(
        command=verb.command,
        what=verb.what,
        plan=planned,
        apply=lambda plan: carried_out(client, plan.id, plan.hash, verb.look),
        table=lambda plan: verb.table(plan.plan),
        done_table=verb.done,
    )
    run(apply_change(made, execute=execute, wanted=wanted, output=output))
