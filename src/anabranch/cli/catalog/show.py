"""``anabranch catalog list``, ``show``, ``versions``, ``grants`` and ``groups``: what one may see."""

from __future__ import annotations

import urllib.parse
from typing import Annotated, Any

import typer

from anabranch.cli.catalog import render
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="database.table, or a database.", show_default=False)]


def list_entries(
    ctx: typer.Context,
    database: Annotated[str, typer.Argument(metavar="[DATABASE]", help="Default: all.", show_default=False)] = "",
    search: Annotated[str, typer.Option(help="In names, descriptions and columns.", show_default=False)] = "",
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List what one may see of the catalog."""
    answer: Any = service_of(ctx, service).get("/catalog", database=database, search=search)
    emit(answer, render.entries(answer), output)


def show(
    ctx: typer.Context, name: NameArgument, service: ServiceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show one entry: who owns it, its columns and options or its query, and what one may do with it."""
    answer: Any = service_of(ctx, service).get(f"/catalog/entries/{urllib.parse.quote(name, safe='')}")
    emit(answer, render.entry(answer), output)


def versions(
    ctx: typer.Context, name: NameArgument, service: ServiceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """List the schema versions of a table, the newest first."""
    answer: Any = service_of(ctx, service).get(f"/catalog/entries/{urllib.parse.quote(name, safe='')}/versions")
    emit(answer, render.versions(answer), output)


def grants(
    ctx: typer.Context,
    securable: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Its full name; default: all.", show_default=False)
    ] = "",
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List grants on what one manages, and one's own."""
    answer: Any = service_of(ctx, service).get("/catalog/grants", securable=securable)
    emit(answer, render.grants(answer), output)


def groups(ctx: typer.Context, service: ServiceOption = None, output: FormatOption = Format.TABLE) -> None:
    """List one's own groups; an admin sees all."""
    answer: Any = service_of(ctx, service).get("/catalog/groups")
    emit(answer, render.groups(answer), output)
