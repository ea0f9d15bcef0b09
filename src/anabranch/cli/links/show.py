"""``anabranch link list`` and ``anabranch link show``: where links and their lanes stand."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from anabranch.cli.groups import render as render_groups
from anabranch.cli.links import render
from anabranch.cli.links.watch import watch
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, console, emit
from anabranch.cli.running import on_target, run
from anabranch.errors import InvalidFieldError
from anabranch.operations.documents import plain


def list_(ctx: typer.Context, target_name: TargetOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the links that a target stores."""
    run(_list(ctx, target_name, output))


async def _list(ctx: typer.Context, target_name: str | None, output: Format) -> None:
    from anabranch.operations.links.show import list_links

    async with on_target(ctx, target_name) as target:
        statuses = await list_links(target)
    emit(statuses, render.links(statuses), output)


def show(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    live: Annotated[bool, typer.Option("--watch", "-w", help="Show it every second until Ctrl-C.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a link: per lane its position, lag, mode and why, throughput and state.

    --watch redraws in a terminal, and writes a line each time in a pipe; Ctrl-C leaves the view and touches nothing.
    What the columns and states mean: docs/how-to/watch-a-link.md.
    """
    if not live:
        run(_show(ctx, link, target_name, output))
        return
    if output is not Format.TABLE:
        fix = f"anabranch link show {link} -o {output}"
        raise InvalidFieldError("link show", "--watch", f"it is not written as {output}", fix)
    try:
        run(_watch(ctx, link, target_name))
    except KeyboardInterrupt:
        console().print("detached; the link is as it was")


async def _show(ctx: typer.Context, link: str, target_name: str | None, output: Format) -> None:
    from anabranch.operations.links import show as operation

    async with on_target(ctx, target_name) as target:
        status = await operation.show(target, link)
        if status.spec.groups is None:
            emit(status, render.status(status), output)
            return
        fresh = await operation.last_sync(target, link)
    table = Group(render.status(status), render_groups.fresh(fresh, status.read_at_ms))
    emit({**plain(status), "sync": fresh}, table, output)


async def _watch(ctx: typer.Context, link: str, target_name: str | None) -> None:
    from anabranch.operations.links.status import LinkStatusReader

    async with on_target(ctx, target_name) as target:
        statuses = LinkStatusReader(target)
        await watch(lambda: statuses.of(link), console())
