"""``anabranch link accept``: show what waits for a person and what accepting it means, and with ``--execute`` do it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from anabranch.cli import port
from anabranch.cli.completing import link_partitions
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.hints import repeated
from anabranch.cli.links import render_decisions
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target
from anabranch.cli.output import Format, FormatOption, console, emit


def accept(
    ctx: typer.Context,
    link: LinkArgument,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC[-PARTITION]]",
            help="Of the source; default all.",
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
    output: FormatOption = Format.TABLE,
) -> None:
    """Let lanes go on that stopped where records are lost, their position is in doubt, or a topic was made again."""
    cluster = target(ctx, target_name)
    source = contexts(ctx).get(port.links().show(cluster, link).spec.source.context)
    engine = port.decisions()
    plan = engine.accept(source, cluster, link, where, execute=False, at=at)
    if not execute:
        emit(plan, render_decisions.accept_plan(plan), output)
        place = (f" {where}" if where else "") + (f" --at {at}" if at is not None else "")
        say_dry_run(f"anabranch link accept {link}{place}{repeated(target_name)} --execute")
        return
    if output is Format.TABLE:
        console().print(render_decisions.accept_plan(plan))
    done = engine.accept(source, cluster, link, where, execute=True, fingerprint=plan.fingerprint, at=at)
    lanes = "1 lane goes" if len(done.choices) == 1 else f"{len(done.choices):,} lanes go"
    emit(done, Text(f"done: {lanes} on"), output)
