"""``anabranch groups list`` and ``anabranch groups show``: where groups stand on both clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.completing import source_groups
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import clusters
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit


def list_(
    ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None, output: FormatOption = Format.TABLE
) -> None:
    """List the groups of a link's source, and how fresh those are that the link follows."""
    report = port.groups().list_groups(*clusters(ctx, link, target_name), link)
    emit(report, render_groups.report(report), output)


def show(
    ctx: typer.Context,
    link: LinkArgument,
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group's name.", autocompletion=source_groups, show_default=False)
    ],
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show one group: members and commits on both sides, what moving it now would mean, its mark."""
    found = port.groups().show(*clusters(ctx, link, target_name), link, group)
    emit(found, render_groups.one(found), output)
