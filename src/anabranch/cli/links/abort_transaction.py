"""``anabranch link abort-transaction``: name the open transactions of a source partition, and end a hanging one."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import link_partitions
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted, repeated
from anabranch.cli.links import render_decisions
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_both, run


def abort_transaction(
    ctx: typer.Context,
    link: LinkArgument,
    where: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC-PARTITION", help="Of the source.", autocompletion=link_partitions, show_default=False
        ),
    ],
    target_name: TargetOption = None,
    producer_id: Annotated[
        int | None,
        typer.Option(min=0, help="End this one, although its coordinator would still end it.", show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Name the open transactions that a lane waits for, and end one that hangs: the link's one write to its source.

    Shows producer id, epochs, age and what the coordinator answers; with --execute ends the first one that hangs. See
    docs/how-to/when-a-lane-stops.md.
    """
    named = "" if producer_id is None else f" --producer-id {producer_id}"

    async def verb() -> None:
        from anabranch.operations.links import abort_transaction as operation

        async with on_both(ctx, link, target_name) as (source, target):
            change = PlannedChange(
                command=f"anabranch link abort-transaction {link} {quoted(where)}{named}{repeated(target_name)}",
                what=f"partition {where}",
                plan=lambda: operation.plan(source, target, link, where, producer_id),
                apply=lambda found: operation.apply(source, target, found),
                table=render_decisions.abort_plan,
                done_table=render_decisions.abort_report,
            )
            await apply_change(change, execute=execute, wanted=plan, output=output)

    run(verb())
