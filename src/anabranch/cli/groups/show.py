"""``anabranch groups list`` and ``anabranch groups show``: groups on both clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.completing import source_groups
from anabranch.cli.groups import render as render_groups
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_both, run


def list_(
    ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None, output: FormatOption = Format.TABLE
) -> None:
    """List the groups of a link's source, and how fresh continuous sync is.

    Per group: its kind, its state on both sides, how many of its commits are in the link, its baseline, and advice for
    kinds that are not moved.
    """
    run(_list(ctx, link, target_name, output))


def show(
    ctx: typer.Context,
    link: LinkArgument,
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group's name.", autocompletion=source_groups, show_default=False)
    ],
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show one group: members and commits on both sides, what moving it now would do, its baseline."""
    run(_show(ctx, link, group, target_name, output))


async def _list(ctx: typer.Context, link: str, target_name: str | None, output: Format) -> None:
    from anabranch.operations.groups import show as operation

    async with on_both(ctx, link, target_name) as (source, target):
        report = await operation.list_groups(source, target, link)
    emit(report, render_groups.report(report), output)


async def _show(ctx: typer.Context, link: str, group: str, target_name: str | None, output: Format) -> None:
    from anabranch.operations.groups import show as operation

    async with on_both(ctx, link, target_name) as (source, target):
        found = await operation.show(source, target, link, group)
    emit(found, render_groups.one(found), output)
