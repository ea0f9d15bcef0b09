"""``anabranch catalog list``, ``show``, ``versions``, ``grants`` and ``groups``: what one may see."""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.catalog import render
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams.trying import FreshOption, begun, followed

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="database.table, or a database.", show_default=False)]


def list_entries(
    ctx: typer.Context,
    database: Annotated[str, typer.Argument(metavar="[DATABASE]", help="Default: all.", show_default=False)] = "",
    search: Annotated[str, typer.Option(help="In names, descriptions and columns.", show_default=False)] = "",
    attached: Annotated[
        bool, typer.Option("--attached", help="Have Spark list the tables of its own catalogs instead.")
    ] = False,
    fresh: FreshOption = False,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List what one may see of the catalog, and the catalogs of Spark's own that are attached.

    With --attached the service has Spark ask those for their databases and tables, as far as one has a privilege;
    for each launcher that attaches some of its own it starts Spark once more.
    """
    client = service_of(ctx, service)
    if attached:
        known: Any = client.get("/catalog/attached")
        rows, is_cut = list[dict[str, str]](), False
        for launcher in dict.fromkeys(one["launcher"] for one in known):
            found = _tables(client, launcher, fresh)
            rows, is_cut = [*rows, *found[0]], is_cut or found[1]
        emit(rows, render.attached_tables(rows, is_cut=is_cut), output)
        return
    answer: Any = client.get("/catalog", database=database, search=search)
    names: Any = [] if database or search else client.get("/catalog/attached")
    emit(answer, render.entries(answer, names), output)


def _tables(client: ServiceClient, launcher: str, fresh: bool) -> tuple[list[dict[str, str]], bool]:
    """The tables of the catalogs that a launcher attaches, and whether there are more."""
    found: list[Any] = []
    request = {"kind": "tables", "rows": 1000, "launcher": launcher, "fresh": fresh}
    trial = followed(client, request, Path("catalog"), begun, lambda trial: found.extend(trial["rows"]))
    names = ["launcher", *(column["name"] for column in trial["columns"])]
    return [dict(zip(names, [launcher, *row], strict=True)) for row in found], trial["limit"] is not None


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
