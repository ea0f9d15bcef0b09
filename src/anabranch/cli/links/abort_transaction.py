"""``anabranch link abort-transaction``: name the open transactions of a source partition, and end a hanging one."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.completing import link_partitions
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.hints import repeated
from anabranch.cli.links import render_decisions
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target
from anabranch.cli.output import Format, FormatOption, emit


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
        typer.Option(min=0, help="End this one, though its coordinator would still end it.", show_default=False),
    ] = None,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Name the open transactions that a lane waits for, and end one that hangs: the link's one write to its source."""
    cluster = target(ctx, target_name)
    source = contexts(ctx).get(port.links().show(cluster, link).spec.source.context)
    plan = port.transactions().abort_transaction(source, cluster, link, where, producer_id, execute)
    emit(plan, render_decisions.abort_plan(plan), output)
    if not execute:
        named = "" if producer_id is None else f" --producer-id {producer_id}"
        again = f"anabranch link abort-transaction {link} {where}{named}{repeated(target_name)} --execute"
        say_dry_run(again)
