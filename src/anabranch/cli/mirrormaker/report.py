"""``anabranch mm2 report``: the error of a running MirrorMaker 2, group by group."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.completing import link_ids
from anabranch.cli.located import contexts
from anabranch.cli.mirrormaker import tables
from anabranch.cli.mirrormaker.options import (
    LookOption,
    MirroredOption,
    SeparatorOption,
    SourceAliasOption,
    TargetAliasOption,
)
from anabranch.cli.options import TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_context, on_target, run
from anabranch.mirrormaker.names import SEPARATOR


def report(
    ctx: typer.Context,
    source_name: MirroredOption,
    target_name: TargetOption = None,
    source_alias: SourceAliasOption = None,
    target_alias: TargetAliasOption = None,
    separator: SeparatorOption = SEPARATOR,
    link: Annotated[
        str | None,
        typer.Option(
            "--link", help="Show this link's exact positions beside them.", autocompletion=link_ids, show_default=False
        ),
    ] = None,
    look: LookOption = 500,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare MirrorMaker 2's answer for each group and partition with the exact one; nothing is changed.

    --source-alias, --target-alias and --separator are those of its properties, where its topics do not tell them. See
    docs/how-to/beside-mirrormaker.md.
    """
    run(_report(ctx, source_name, target_name, (source_alias, target_alias), separator, link, look, output))


async def _report(
    ctx: typer.Context,
    source_name: str,
    target_name: str | None,
    aliases: tuple[str | None, str | None],
    separator: str,
    link: str | None,
    look: int,
    output: Format,
) -> None:
    from anabranch.operations.mirrormaker import report as operation

    async with on_target(ctx, target_name) as target, on_context(contexts(ctx).get(source_name)) as source:
        found = await operation.report(source, target, *aliases, separator=separator, link=link, look=look)
    emit(found, tables.report(found), output)
