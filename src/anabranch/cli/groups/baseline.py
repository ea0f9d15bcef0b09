"""``anabranch groups baseline``: store what groups have committed when copying begins."""

from __future__ import annotations

import typer

from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import (
    ExcludeOption,
    GroupsArgument,
    GroupsRefusedError,
    TopicsOption,
    selection,
)
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_both, run
from anabranch.groups.baseline import Coverage
from anabranch.groups.select import GroupSelection


def baseline(
    ctx: typer.Context,
    link: LinkArgument,
    groups: GroupsArgument = None,
    exclude: ExcludeOption = None,
    topics: TopicsOption = None,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Store what groups have committed on the source, and name the groups that would lose records."""
    run(_baseline(ctx, link, selection(groups, exclude, topics), target_name, output))


async def _baseline(
    ctx: typer.Context, link: str, chosen: GroupSelection, target_name: str | None, output: Format
) -> None:
    from anabranch.operations.groups import baseline as operation

    async with on_both(ctx, link, target_name) as (source, target):
        planned = await operation.plan(source, target, link, chosen)
        report = await operation.apply(source, target, planned)
    emit(report, render_groups.baselines(report), output)
    unknown = sum(part.coverage is Coverage.UNKNOWN for one in report.baselines for part in one.partitions)
    if unknown:
        positions = "1 position" if unknown == 1 else f"{unknown:,} positions"
        typer.echo(
            f"note: {positions} cannot be judged yet: take the baseline again when the link has begun to copy", err=True
        )
    if not report.ok:
        number = sum(one.coverage is Coverage.BEFORE for one in report.baselines)
        fix = "make a link that begins earlier, or let the groups read on the source up to where it begins"
        raise GroupsRefusedError("would lose records that the link does not copy", number, fix)
