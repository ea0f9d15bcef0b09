"""``anabranch groups create``: the first commits of a group, at any start position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import target_topics
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import ClusterOption, GroupsRefusedError
from anabranch.cli.hints import quoted, repeated
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_target, run
from anabranch.config.offsets_file import start_of
from anabranch.groups.create import CreatePlan, GroupCreated

_EARLIEST = "earliest"


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
    ] = _EARLIEST,
    target_name: ClusterOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Begin a group on a cluster before its consumers are started there; what it has committed is never touched.

    A plan's hash covers start, partitions and what forbids it.
    """
    run(_create(ctx, group, topic, start, target_name, execute, plan, output))


async def _create(
    ctx: typer.Context,
    group: str,
    topics: Sequence[str],
    start: str,
    target_name: str | None,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    from anabranch.operations.groups import create as operation

    def refuse(found: CreatePlan) -> None:
        if not found.ok:
            raise GroupsRefusedError("was not created", 1, found.refusals[0].fix)

    def done_table(done: GroupCreated) -> RenderableType:
        return render_groups.created(done, shown=wanted is None)

    words = "".join(f" --topic {quoted(topic)}" for topic in topics)
    words += "" if start == _EARLIEST else f" --start {quoted(start)}"
    position = start_of(start)
    async with on_target(ctx, target_name) as target:

        async def plan() -> CreatePlan:
            found = await operation.plan(target, group, topics, position)
            for note in found.notes:
                typer.echo(f"note: {note}", err=True)
            return found

        change = PlannedChange(
            command=f"anabranch groups create {quoted(group)}{words}{repeated(target_name)}",
            what=f"group {group!r}",
            plan=plan,
            apply=lambda planned: operation.apply(target, planned),
            table=render_groups.creating,
            done_table=done_table,
            empty=lambda found: not found.ok,
            refuse=refuse,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)
