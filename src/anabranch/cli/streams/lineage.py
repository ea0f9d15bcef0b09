"""``anabranch stream lineage``: what makes what, who reads a column, and what breaks without it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anabranch.cli.completing import stream_names
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams import render_lineage
from anabranch.cli.streams.asking import path_of
from anabranch.errors import InvalidFieldError


def lineage(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STREAM]", autocompletion=stream_names, help="Needed without --column.", show_default=False
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(metavar="TABLE.COLUMN", help="Only this column; without a stream over all.", show_default=False),
    ] = None,
    impact: Annotated[bool, typer.Option("--impact", help="What breaks, over all streams, if --column goes.")] = False,
    openlineage: Annotated[bool, typer.Option("--openlineage", help="As run events of OpenLineage, in JSON.")] = False,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show which columns of which tables make which columns, as Spark's plan of the stream has it.

    With --column and no stream: who reads that column, over all streams of the service; with --impact also what
    breaks if it goes. Tables are those of the catalog (shop.orders), or kafka://CODE/TOPIC. See
    docs/reference/lineage.md.
    """
    client = service_of(ctx, service)
    if name is None or impact:
        if column is None:
            fix = "anabranch stream lineage STREAM, or anabranch stream lineage --column TABLE.COLUMN"
            raise InvalidFieldError("stream lineage", "--column", "neither a stream nor a column is named", fix)
        found: Any = client.get("/lineage", column=column)
        emit(found, render_lineage.column(found, impact=impact), output)
        return
    if openlineage:
        events: Any = client.get(f"{path_of(name)}/lineage/openlineage")
        emit(events, "", Format.JSON)
        return
    answer: Any = client.get(f"{path_of(name)}/lineage")
    emit(answer, render_lineage.stream(answer, column), output)
