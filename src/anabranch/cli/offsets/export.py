"""``anabranch offsets export``: the maps of a link as a file, to translate without its clusters."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.running import on_target, run
from anabranch.config import maps_file
from anabranch.model.counted import counted


class FileFormat(StrEnum):
    """``json`` is read back by programs; ``csv`` has a line a mapped range, for spreadsheets and databases."""

    JSON = "json"
    CSV = "csv"


def export(
    ctx: typer.Context,
    link: LinkArgument,
    out: Annotated[Path, typer.Option("--out", help="The file, replaced at once.", show_default=False)],
    format_: Annotated[
        FileFormat, typer.Option("--format", help="json, or csv with a line a mapped range.")
    ] = FileFormat.JSON,
    target_name: TargetOption = None,
) -> None:
    """Write all maps of a link to a file; nothing is written where one of them is in doubt.

    The file's format: docs/reference/offsets-file.md.
    """
    run(_export(ctx, link, out, format_, target_name))


async def _export(ctx: typer.Context, link: str, out: Path, format_: FileFormat, target_name: str | None) -> None:
    from anabranch.operations.offsets import export as operation

    async with on_target(ctx, target_name) as target:
        maps = await operation.export(target, link)
    if format_ is FileFormat.JSON:
        maps_file.save(out, link, maps.source, maps.target, maps.stored, maps.lanes)
    else:
        maps_file.save_csv(out, maps.lanes)
    ranges = sum(len(lane.ranges) for lane in maps.lanes)
    typer.echo(f"{counted(len(maps.lanes), 'lane')}, {counted(ranges, 'range')} are in {out}", err=True)
