"""``anabranch route show`` and ``anabranch route versions``: the route table, and those that were before it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli.completing import route_versions
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.routes import render
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.config import routes_file, yaml_file


def show(
    ctx: typer.Context,
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="[VERSION]",
            min=1,
            help="Default: the newest.",
            autocompletion=route_versions,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write its table as a routes file, to edit and apply.", show_default=False),
    ] = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the route table: who published it and why, its codes, its rules.

    See docs/reference/routes.md.
    """
    answer: Any = service_of(ctx, service).get("/routes" if number is None else f"/routes/versions/{number}")
    if out is not None:
        yaml_file.write(out, answer["table"])
    emit(answer, render.version(answer, routes_file.table_of(answer["table"], "route table")), output)


def versions(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    before: Annotated[int | None, typer.Option(min=1, help="Those before this version.", show_default=False)] = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the versions of the route table, the newest first: when, by whom and why each was published."""
    answer: Any = service_of(ctx, service).get("/routes/versions", limit=limit, before=before)
    emit(answer, render.versions(answer), output)
