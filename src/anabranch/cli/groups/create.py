"""``anabranch groups create``: a subscription that does not exist yet, at a position of one's choice."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.completing import target_topics
from anabranch.cli.dryrun import ExecuteOption, applying, say_dry_run
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import ClusterOption, GroupsRefusedError
from anabranch.cli.options import target
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.config.offsets_file import start_of


def create(
    ctx: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.", show_default=False)],
    topic: Annotated[
        list[str],
        typer.Option(help="A topic's name there, repeatable.", autocompletion=target_topics, show_default=False),
    ],
    start: Annotated[
        str,
        typer.Option(help="earliest, latest, a time, group:NAME, TOPIC-PARTITION:OFFSET[,...], or @FILE of offsets."),
    ] = "earliest",
    target_name: ClusterOption = None,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Begin a group on a cluster before its consumers are started there; what it has committed is never touched."""
    cluster = target(ctx, target_name)
    found = port.subscriptions().create(cluster, group, topic, start_of(start), execute)
    emit(found, render_groups.created(found), output)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if not found.ok:
        raise GroupsRefusedError("was not created", 1, found.refusals[0].fix)
    if not execute:
        say_dry_run(applying())
