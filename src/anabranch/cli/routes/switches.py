"""``anabranch route switches`` and ``anabranch route cancel``: clients that are moved while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from anabranch.cli.completing import switch_ids
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.routes import render_switches
from anabranch.cli.service_change import ServiceVerb, change_by_service
from anabranch.cli.service_options import ReasonOption, ServiceOption, repeated_service, service_of
from anabranch.errors import InvalidFieldError
from anabranch.model.clock import now_ms

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

_ID_DIGITS = 32
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
        answer: Any = asked.get(_path(asked, switch))
        emit(answer, render_switches.switch(answer, now_ms()), output)
        return
    answer = asked.get("/switches", limit=limit)
    emit(answer, render_switches.switches(answer, now_ms()), output)


def cancel(
    ctx: typer.Context,
    switch: SwitchArgument,
    reason: ReasonOption,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give a switch up: every client goes on where it was.  Not once its table is published."""
    asked = service_of(ctx, service)
    id_ = _id(asked, switch, "route cancel")
    verb = ServiceVerb(
        "/routes/cancel",
        {"switch": id_, "reason": reason},
        f"anabranch route cancel {id_} --reason {quoted(reason)}{repeated_service(service)}",
        f"switch {id_}",
        f"anabranch route switches {id_}",
    )
    change_by_service(
        asked,
        verb,
        lambda shown: render_switches.cancel_plan(shown.plan),
        render_switches.cancelled,
        output,
        execute=execute,
        wanted=plan,
    )


def _path(asked: ServiceClient, switch: str) -> str:
    """The address of the one switch whose id begins so."""
    return f"/switches/{quote(_id(asked, switch), safe='')}"


def _id(asked: ServiceClient, switch: str, command: str = "route switches") -> str:
    """The id of the one switch whose id begins so; raises InvalidFieldError."""
    if not switch:
        raise InvalidFieldError(command, "SWITCH", "it is empty", "list them: anabranch route switches")
    if len(switch) >= _ID_DIGITS:
        return switch
    known = [one["id"] for one in asked.get("/switches", limit=100) if one["id"].startswith(switch)]
    if len(known) != 1:
        what = f"{len(known)} switches begin so" if known else f"no switch of the last 100 begins with {switch!r}"
        raise InvalidFieldError(command, "SWITCH", what, "list them: anabranch route switches")
    return str(known[0])
