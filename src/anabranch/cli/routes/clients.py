"""``anabranch route clients``: which applications are where, and which lag behind a change."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anabranch.cli.completing import cluster_codes, context_names
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.routes import render_clients
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.model.clock import now_ms
from anabranch.model.routing import ClientRole


def clients(
    ctx: typer.Context,
    code: Annotated[
        str | None, typer.Option(help="Of one cluster code.", autocompletion=cluster_codes, show_default=False)
    ] = None,
    group: Annotated[str | None, typer.Option(help="Of one group.", show_default=False)] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Led to one cluster.", autocompletion=context_names, show_default=False),
    ] = None,
    application: Annotated[str | None, typer.Option(help="Of one application.", show_default=False)] = None,
    role: Annotated[ClientRole | None, typer.Option(help="Of one role.", show_default=False)] = None,
    behind: Annotated[bool, typer.Option("--behind", help="Only those that do not follow a change yet.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the registered clients: what they are, where they are led, how far they lag, when they were last seen.

    A client is stale once its lease has run out, and behind while a newer version leads it
    otherwise and it has not said that it follows that.
    """
    asked: Any = service_of(ctx, service).get(
        "/clients",
        code=code,
        group=group,
        cluster=cluster,
        application=application,
        role=None if role is None else role.value,
        behind="true" if behind else None,
        offset=offset,
        limit=limit,
    )
    emit(asked, render_clients.clients(asked, now_ms()), output)
