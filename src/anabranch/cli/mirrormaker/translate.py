"""``anabranch mm2 translate``: where readers of MirrorMaker 2's copy go on, and how exact that is."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.located import contexts
from anabranch.cli.mirrormaker.options import (
    LookOption,
    MirroredOption,
    SeparatorOption,
    SourceAliasOption,
    TargetAliasOption,
)
from anabranch.cli.offsets import render as render_offsets
from anabranch.cli.offsets.translate import NotAllExactError
from anabranch.cli.options import TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_context, on_target, run
from anabranch.mirrormaker.names import SEPARATOR
from anabranch.model.positions import Translation
from anabranch.model.start import parse_offset
from anabranch.model.topics import TopicPartition


def translate(
    ctx: typer.Context,
    offsets: Annotated[
        list[str], typer.Argument(metavar="TOPIC-PARTITION:OFFSET", help="Next offsets to read.", show_default=False)
    ],
    source_name: MirroredOption,
    target_name: TargetOption = None,
    source_alias: SourceAliasOption = None,
    target_alias: TargetAliasOption = None,
    separator: SeparatorOption = SEPARATOR,
    look: LookOption = 500,
    output: FormatOption = Format.TABLE,
) -> None:
    """Translate source offsets to MirrorMaker 2's copy: exactly where the records tell, else with the error's bound.

    An approximate answer skips no record, and says how many offsets are read again at most. Exit code 6 where an
    answer is not exact. See docs/how-to/beside-mirrormaker.md.
    """
    questions = [parse_offset(one) for one in offsets]
    found = run(_translate(ctx, questions, source_name, target_name, (source_alias, target_alias), separator, look))
    emit(found, render_offsets.translation(found), output)
    if found.refused:
        raise NotAllExactError(found.refused, len(found.answers))


async def _translate(
    ctx: typer.Context,
    questions: list[tuple[TopicPartition, int]],
    source_name: str,
    target_name: str | None,
    aliases: tuple[str | None, str | None],
    separator: str,
    look: int,
) -> Translation:
    from anabranch.operations.mirrormaker import translate as operation

    async with on_target(ctx, target_name) as target, on_context(contexts(ctx).get(source_name)) as source:
        return await operation.translate(source, target, questions, *aliases, separator=separator, look=look)
