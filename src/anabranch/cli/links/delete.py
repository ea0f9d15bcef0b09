"""``anabranch link delete``: show what deleting a link does; delete it with ``--execute``."""

from __future__ import annotations

import typer

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import repeated
from anabranch.cli.links import render
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_target, run
from anabranch.model.reports import DeletePlan, DeleteReport


def delete(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Delete a link and restore the configs of its target topics; topics and records stay.

    A dry run shows the control records to delete and the topic configs to restore.
    """
    run(_delete(ctx, link, target_name, execute, plan, output))


async def _delete(
    ctx: typer.Context, link: str, target_name: str | None, execute: bool, wanted: str | None, output: Format
) -> None:
    from anabranch.operations.links import delete as operation

    async with on_target(ctx, target_name) as target:

        async def apply(plan: DeletePlan) -> DeleteReport:
            if plan.running and output is not Format.TABLE:
                typer.echo(f"link {link} is running: its workers stop within seconds", err=True)
            return await operation.apply(target, plan)

        change = PlannedChange(
            command=f"anabranch link delete {link}{repeated(target_name)}",
            what=f"link {link!r}",
            plan=lambda: operation.plan(target, link),
            apply=apply,
            table=render.delete_plan,
            done_table=render.deleted,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)
