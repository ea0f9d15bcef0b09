"""``anabranch mm2 publish``: a link's exact positions for clients that ask MirrorMaker 2's topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change, check_flags
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted, repeated
from anabranch.cli.mirrormaker import tables
from anabranch.cli.mirrormaker.options import SeparatorOption, SourceAliasOption
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import on_both, run
from anabranch.mirrormaker.names import SEPARATOR

if TYPE_CHECKING:
    from anabranch.operations.mirrormaker.publish import Published


def publish(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    source_alias: SourceAliasOption = None,
    separator: SeparatorOption = SEPARATOR,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Write every group's exact position as a checkpoint, where RemoteClusterUtils and MirrorClient read it.

    With --execute writes the positions of that moment where `RemoteClusterUtils` and `MirrorClient` read them. A plan's
    hash covers which topics the link copies. See docs/how-to/beside-mirrormaker.md.
    """
    run(_publish(ctx, link, target_name, source_alias, separator, execute, plan, output))


async def _publish(
    ctx: typer.Context,
    link: str,
    target_name: str | None,
    source_alias: str | None,
    separator: str,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    from anabranch.operations.mirrormaker import publish as operation

    def done_table(done: Published) -> RenderableType:
        return tables.published(done, separator, shown=wanted is None)

    words = "" if source_alias is None else f" --source-alias {quoted(source_alias)}"
    words += "" if separator == SEPARATOR else f" --separator {quoted(separator)}"
    command = f"anabranch mm2 publish {link}{words}{repeated(target_name)}"
    check_flags(command, execute, wanted)
    async with on_both(ctx, link, target_name) as (source, target):
        change = PlannedChange(
            command=command,
            what=f"link {link!r}",
            plan=lambda: operation.plan(source, target, link, source_alias=source_alias, separator=separator),
            apply=lambda planned: operation.apply(source, target, planned),
            table=tables.publishing,
            done_table=done_table,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)
