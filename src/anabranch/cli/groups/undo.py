"""``anabranch groups undo``: restore what groups had committed before they were moved."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import ClusterOption, GroupsRefusedError
from anabranch.cli.hints import repeated
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_target, run
from anabranch.errors import InvalidFieldError
from anabranch.groups.undo import GroupsUndone, UndoPlan


def undo(
    ctx: typer.Context,
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="As sync and create printed it; without one, list what can be taken back.",
            show_default=False,
        ),
    ] = None,
    target_name: ClusterOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Restore exactly the former commits, and delete those that were not there; groups that commit since are kept.

    Takes back what `groups sync` or `groups create` wrote.
    """
    if id_ is None:
        if execute or plan is not None:
            raise InvalidFieldError("groups undo", "ID", "what to take back was not named", "anabranch groups undo")
        run(_moves(ctx, target_name, output))
        return
    run(_undo(ctx, id_, target_name, execute, plan, output))


async def _moves(ctx: typer.Context, target_name: str | None, output: Format) -> None:
    from anabranch.operations.groups.undo import moves

    async with on_target(ctx, target_name) as target:
        found = await moves(target)
        emit(found, render_groups.moves(found, target.name), output)


async def _undo(
    ctx: typer.Context, id_: str, target_name: str | None, execute: bool, wanted: str | None, output: Format
) -> None:
    from anabranch.operations.groups import undo as operation

    def refuse(found: UndoPlan | GroupsUndone) -> None:
        refused = sum(bool(group.refusals) for group in found.groups)
        if refused:
            raise GroupsRefusedError("cannot get their former commits back", refused)

    def done_table(done: GroupsUndone) -> RenderableType:
        return render_groups.undone(done, shown=wanted is None)

    async with on_target(ctx, target_name) as target:
        change = PlannedChange(
            command=f"anabranch groups undo {id_}{repeated(target_name)}",
            what=f"the undoing of {id_}",
            plan=lambda: operation.plan(target, id_),
            apply=lambda planned: operation.apply(target, planned),
            table=render_groups.undo,
            done_table=done_table,
            empty=lambda found: all(group.refusals for group in found.groups),
            refuse=refuse,
            refuse_done=refuse,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)
