"""``anabranch route switches`` and ``anabranch route cancel``: clients that are moved while they run."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from anabranch.cli.completing import switch_ids
from anabranch.cli.dryrun import ExecuteOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.routes import render_switches
from anabranch.cli.routes.options import ReasonOption, ServiceOption, service_of
from anabranch.errors import InvalidFieldError
from anabranch.model.clock import now_ms

SwitchArgument = Annotated[str, typer.Argument(metavar="SWITCH", autocompletion=switch_ids, show_default=False)]


def switches(
    ctx: typer.Context,
    switch: Annotated[
        str | None,
        typer.Argument(
            metavar="[SWITCH]", help="One of them, with its clients.", autocompletion=switch_ids, show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="At most so many.")] = 20,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the switches, the newest first, or show one with its clients: how far it came, and why it was given up."""
    asked = service_of(ctx, service)
    if switch is not None:
        answer: Any = asked.get(_path(switch))
        emit(answer, render_switches.switch(answer, now_ms()), output)
        return
    answer = asked.get("/switches", limit=limit)
    emit(answer, render_switches.switches(answer, now_ms()), output)


def cancel(
    ctx: typer.Context,
    switch: SwitchArgument,
    reason: ReasonOption,
    execute: ExecuteOption = False,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give a switch up: every client goes on where it was.  Not once its table is published."""
    asked = service_of(ctx, service)
    if execute:
        answer: Any = asked.post(f"{_path(switch)}/cancel", {"reason": reason})
    else:
        answer = asked.get(_path(switch))
    emit(answer, render_switches.switch(answer, now_ms()), output)
    if not execute:
        typer.echo("nothing was done; give it up with --execute", err=True)


def _path(switch: str) -> str:
    if not switch:
        raise InvalidFieldError("route switches", "SWITCH", "it is empty", "list them: anabranch route switches")
    return f"/switches/{quote(switch, safe='')}"
