"""``anabranch offsets ranges``: the maps themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.completing import link_partitions
from anabranch.cli.offsets import render as render_offsets
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_target, run


def ranges(
    ctx: typer.Context,
    link: LinkArgument,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC[-PARTITION]",
            help="A source topic or partition.",
            autocompletion=link_partitions,
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Newest ranges of each lane that a table shows.")] = 20,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show which source offset is which target offset: a line a lane, or the ranges of one topic or partition."""
    run(_ranges(ctx, link, where, limit, target_name, output))


async def _ranges(
    ctx: typer.Context, link: str, where: str | None, limit: int, target_name: str | None, output: Format
) -> None:
    from anabranch.operations.offsets import ranges as operation

    async with on_target(ctx, target_name) as target:
        found = await operation.ranges(target, link, where)
    emit(found, render_offsets.lanes(found) if where is None else render_offsets.ranges(found, limit), output)
