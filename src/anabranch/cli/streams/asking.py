"""Streams of the service, as verbs of ``anabranch stream`` ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import stream_names
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format
from anabranch.cli.running import run
from anabranch.cli.service_operation import carried_out

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

PLAN_S = 360.0
"""How long a plan may take: Spark looks at a script that is to be saved, and may have to wait for its turn."""
StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", autocompletion=stream_names, show_default=False)]


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A plan as the service answers it."""

    id: str
    hash: str
    plan: Mapping[str, Any] = field(hash=False)


def path_of(name: str) -> str:
    """The address of a stream."""
    return f"/streams/{quote(name, safe='')}"


def change(
    client: ServiceClient,
    verb: str,
    request: Mapping[str, Any],
    table: Callable[[StreamChange], RenderableType],
    done: Callable[[Any], RenderableType],
    output: Format,
    *,
    execute: bool = True,
    wanted: str | None = None,
    command: str = "",
) -> Any:
    """Have the service plan a verb of streams, and apply it; returns what came of it, None where it was only shown."""
    name, patient = str(request["stream"]), replace(client, timeout_s=PLAN_S)

    async def planned() -> StreamChange:
        answer = await asyncio.to_thread(patient.post, f"/streams/{verb}/plan", request)
        return StreamChange(answer["id"], answer["hash"], answer["plan"])

    look = f"anabranch stream show {quoted(name)}"
    made: PlannedChange[StreamChange, Any] = PlannedChange(
        command=command or f"anabranch stream {verb} {quoted(name)}",
        what=f"stream {name}",
        plan=planned,
        apply=lambda plan: carried_out(client, plan.id, plan.hash, look),
        table=table,
        done_table=done,
    )
    return run(apply_change(made, execute=execute, wanted=wanted, output=output))
