"""``anabranch link list`` and ``anabranch link show``: where links and their lanes stand."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from anabranch.cli import port, render
from anabranch.cli.groups import render as render_groups
from anabranch.cli.options import LinkArgument, TargetOption, target
from anabranch.cli.output import Format, FormatOption, console, emit, plain
from anabranch.cli.watch import watch
from anabranch.errors import InvalidFieldError


def list_(ctx: typer.Context, target_name: TargetOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the links that a target stores."""
    statuses = port.links().list_links(target(ctx, target_name))
    emit(statuses, render.links(statuses), output)


def show(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    live: Annotated[bool, typer.Option("--watch", "-w", help="Show it every second until Ctrl-C.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a link: per lane its position, lag, mode and why, throughput and state."""
    cluster = target(ctx, target_name)
    engine = port.links()
    if not live:
        status = engine.show(cluster, link)
        if status.spec.groups is None:
            emit(status, render.status(status), output)
            return
        fresh = port.groups().freshness(cluster, link)
        table = Group(render.status(status), render_groups.fresh(fresh, status.read_at_ms))
        emit({**plain(status), "followed": fresh}, table, output)
    elif output is not Format.TABLE:
        fix = f"anabranch link show {link} -o {output}"
        raise InvalidFieldError("link show", "--watch", f"it is not written as {output}", fix)
    else:
        watch(lambda: engine.show(cluster, link), console())
