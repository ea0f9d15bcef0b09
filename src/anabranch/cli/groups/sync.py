"""``anabranch groups plan`` and ``anabranch groups sync``: plan to move groups, and apply that plan."""

from __future__ import annotations

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change, check_flags
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import (
    ExcludeOption,
    GroupsArgument,
    GroupsRefusedError,
    TopicsOption,
    arguments,
    selection,
)
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_both, run
from anabranch.groups.plan import GroupsMoved, GroupsPlan, GroupStep
from anabranch.groups.select import GroupSelection


def plan(
    ctx: typer.Context,
    link: LinkArgument,
    groups: GroupsArgument = None,
    exclude: ExcludeOption = None,
    topics: TopicsOption = None,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show per group and partition its source commit, its target position, and every reason not to move it.

    Shows the target's commit and the lag left, too, and the hash of what `groups sync` would do. See
    docs/how-to/move-consumer-groups.md.
    """
    chosen, words = selection(groups, exclude, topics), arguments(groups, exclude, topics, target_name)
    run(_sync(ctx, link, chosen, words, target_name, False, None, output))


def sync(
    ctx: typer.Context,
    link: LinkArgument,
    groups: GroupsArgument = None,
    exclude: ExcludeOption = None,
    topics: TopicsOption = None,
    target_name: TargetOption = None,
    execute: ExecuteOption = False,
    plan_: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Move groups to the target, each wholly or not at all; their consumers must be stopped on both sides.

    Shows what `groups plan` shows; with --execute does exactly that. See docs/how-to/move-consumer-groups.md.
    """
    chosen, words = selection(groups, exclude, topics), arguments(groups, exclude, topics, target_name)
    run(_sync(ctx, link, chosen, words, target_name, execute, plan_, output))


async def _sync(
    ctx: typer.Context,
    link: str,
    chosen: GroupSelection,
    words: str,
    target_name: str | None,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    from anabranch.operations.groups import sync as operation

    def refuse(found: GroupsPlan | GroupsMoved) -> None:
        number = len(found.of(GroupStep.REFUSED)) + len(found.of(GroupStep.FAILED))
        if number and execute:
            raise GroupsRefusedError("did not move", number, f"anabranch groups plan {link}{words}")
        if number:
            raise GroupsRefusedError("would not be moved", number, "the plan names every reason and its next step")

    def done_table(done: GroupsMoved) -> RenderableType:
        return render_groups.done(done, reasons=wanted is not None)

    command = f"anabranch groups sync {link}{words}"
    check_flags(command, execute, wanted)
    async with on_both(ctx, link, target_name) as (source, target):
        change = PlannedChange(
            command=command,
            what=f"groups of link {link!r}",
            plan=lambda: operation.plan(source, target, link, chosen),
            apply=lambda planned: operation.apply(source, target, planned),
            table=render_groups.plan,
            done_table=done_table,
            empty=lambda found: not found.of(GroupStep.MOVE),
            refuse=refuse,
            refuse_done=refuse,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)
