"""``anabranch catalog drop``: an object goes, and its topic where that is asked for and typed again."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from anabranch.cli.applying import check_flags
from anabranch.cli.catalog import render
from anabranch.cli.catalog.changing import CatalogVerb, change
from anabranch.cli.catalog.options import EntryKind, KindOption
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.errors import InvalidFieldError


def drop(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="database.table, or a database.", show_default=False)],
    kind: KindOption = EntryKind.OBJECT,
    topic: Annotated[
        bool, typer.Option("--topic", help="Delete the table's Kafka topic with all its records.")
    ] = False,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="NAME", help="Of --topic: the name, again.", show_default=False)
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Drop a table, a view, a function or an empty database; shows what goes, and which views have its name."""
    if topic and execute and confirm is None and sys.stdin.isatty():
        confirm = typer.prompt(f"The topic's records are deleted. Type the name, {name}, to go on", err=True)
    if topic and execute and confirm != name:
        raise InvalidFieldError("catalog drop", "--confirm", "--topic deletes records", f"add: --confirm {name}")
    typed = f"anabranch catalog drop {quoted(name)} --kind {kind.value}"
    typed += (f" --topic --confirm {quoted(name)}" if topic else "") + repeated_service(service)
    check_flags(typed, execute, plan)
    request: dict[str, Any] = {"name": name, "kind": kind.value, "topic": topic}
    verb = CatalogVerb(*("drop", request, typed, name, "anabranch catalog list"), render.dropping, render.dropped)
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)
