"""``anabranch link accept``: show pending decisions with their consequences; accept with ``--execute``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import link_partitions
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted, repeated
from anabranch.cli.links import render_decisions
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_both, run
from anabranch.model.decisions import AcceptReport


def accept(
    ctx: typer.Context,
    link: LinkArgument,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC[-PARTITION]]",
            help="Of the source; default: all.",
            autocompletion=link_partitions,
            show_default=False,
        ),
    ] = None,
    target_name: TargetOption = None,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="OFFSET", help="Where in the source one lane goes on.", show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Let lanes go on that stopped where records are lost, their position is in doubt, or a topic was made again.

    Shows for each of them which source offsets are given up or kept twice, and where the lane goes on; with --execute
    the lanes go on. --at gives up records that cannot be copied, or names a position, for one lane. Refused where
    nothing waits for a decision. See docs/how-to/when-a-lane-stops.md.
    """
    place = (f" {quoted(where)}" if where else "") + (f" --at {at}" if at is not None else "")
    command = f"anabranch link accept {link}{place}{repeated(target_name)}"

    async def verb() -> None:
        from anabranch.operations.links import accept as operation

        async with on_both(ctx, link, target_name) as (source, target):
            change = PlannedChange(
                command=command,
                what=f"link {link!r}",
                plan=lambda: operation.plan(source, target, link, where, at),
                apply=lambda found: operation.apply(source, target, found),
                table=render_decisions.accept_plan,
                done_table=_told,
            )
            await apply_change(change, execute=execute, wanted=plan, output=output)

    run(verb())


def _told(done: AcceptReport) -> Text:
    number = len(done.plan.pending)
    return Text("done: 1 lane goes on" if number == 1 else f"done: {number:,} lanes go on")
