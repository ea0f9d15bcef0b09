"""The one way of the catalog's verbs: the service plans, the plan is shown, and is applied with ``--execute``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from anabranch.cli.output import Format
from anabranch.cli.service_change import ServiceVerb, change_by_service

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient


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
    asked = ServiceVerb(f"/catalog/{verb.name}", verb.request, verb.command, verb.what, verb.look)
    change_by_service(
        client, asked, lambda plan: verb.table(plan.plan), verb.done, output, execute=execute, wanted=wanted
    )
