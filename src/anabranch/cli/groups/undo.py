"""``anabranch groups undo``: give groups back what they had committed before they were moved."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import port
from anabranch.cli.dryrun import ExecuteOption, say_dry_run
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import ClusterOption, GroupsRefusedError
from anabranch.cli.hints import repeated
from anabranch.cli.options import target
from anabranch.cli.output import Format, FormatOption, emit


def undo(
    ctx: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="As sync and create printed it.", show_default=False)],
    target_name: ClusterOption = None,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Restore exactly the former commits, and delete those that were not there; a group that moved since is left."""
    found = port.groups().undo_move(target(ctx, target_name), id_, execute)
    emit(found, render_groups.undo(found), output)
    refused = sum(bool(group.refusals) for group in found.groups)
    if not execute and refused < len(found.groups):
        say_dry_run(f"anabranch groups undo {id_}{repeated(target_name)} --execute")
    if refused:
        raise GroupsRefusedError("cannot be given back what was there before", refused)
